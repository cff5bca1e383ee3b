// Builds the C++ part from source: `node build.mjs` and the modes of the engine's tools.
import { runMode } from '../engine/tools/modes.mjs';

await runMode(process.argv[2]);
