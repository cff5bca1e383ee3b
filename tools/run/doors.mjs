import { becomeProgram, prepareTests } from './phases.mjs';

await prepareTests();
await becomeProgram('tools/doors/main.ts', process.argv.slice(2), ['@coll/source']);
