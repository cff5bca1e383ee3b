import { becomeProgram, prepare } from './phases.mjs';

await prepare();
await becomeProgram('tools/pages/main.ts', process.argv.slice(2));
