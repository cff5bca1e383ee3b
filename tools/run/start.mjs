import { becomeProgram, prepareStart } from './phases.mjs';

await prepareStart();
await becomeProgram('examples/train/main.ts', process.argv.slice(2), ['@coll/source']);
