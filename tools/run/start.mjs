import { becomeProgram, prepare } from './phases.mjs';

await prepare();
await becomeProgram('examples/train/main.ts', process.argv.slice(2));
