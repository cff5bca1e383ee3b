// Processes that add up plain typed arrays. Run it with:
//
//   npx coll run -n 3 examples/processes.ts
import { openProcessGroup } from '@coll/processes';

// Who this is, and where the others are, is in the environment.
await using group = await openProcessGroup();

const sum = await group.allReduce('sum', Float64Array.of(group.rank, 1));
console.log(`rank ${group.rank} of ${group.size}: ${sum.join(' ')}`);
