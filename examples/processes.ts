// Processes that add typed arrays. Run them with:
//
//   npx coll run -n 3 examples/processes.ts
import { openProcessGroup } from '@coll/processes';

// The environment contains the rank of this process, and the address at which it finds the others.
await using group = await openProcessGroup();

const sum = await group.allReduce('sum', Float64Array.of(group.rank, 1));
console.log(`rank ${group.rank} of ${group.size}: ${sum.join(' ')}`);
