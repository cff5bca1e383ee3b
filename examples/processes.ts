// Processes that add up plain typed arrays. Run it with:
//
//   npx coll run -n 3 examples/processes.ts
import { tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { openProcessGroup } from '@coll/processes';

// Who this is, and where the others are, is in the environment.
await using group = await openProcessGroup();
await using communicator = group.communicator(directAlgorithm());

const mine = tensor(Float64Array.of(group.rank, 1));
const sum = tensor(new Float64Array(2));
await communicator.run({ kind: 'all-reduce', op: 'sum' }, [mine], [sum]);
console.log(`rank ${group.rank} of ${group.size}: ${sum.data.join(' ')}`);
