import { becomeCommand, prepare } from './phases.mjs';

await prepare();
await becomeCommand('vitest', ['run', ...process.argv.slice(2)]);
