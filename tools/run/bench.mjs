import { becomeProgram, prepare } from './phases.mjs';

await prepare();
await becomeProgram('tools/bench/src/main.ts', process.argv.slice(2));
