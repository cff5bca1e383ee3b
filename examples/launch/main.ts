// Processes that one launcher has started exchange small records. Run them with:
//
//   npx coll run -n 3 examples/launch/main.ts
import { joinGroup, memberFromEnvironment, storeFromEnvironment } from '@coll/rendezvous';

const member = memberFromEnvironment();
await using store = await storeFromEnvironment();

const card = Buffer.from(`rank ${member.rank} is process ${process.pid}`);
const cards = await joinGroup(store, { ...member, card, timeoutSeconds: 60 });
console.log(cards.map((bytes) => Buffer.from(bytes).toString()).join(', '));
