// Builds the C++ part from source, and tests it: `node build.mjs` and the modes in tools/modes.mjs.
import { runMode } from './tools/modes.mjs';

await runMode(process.argv[2]);
