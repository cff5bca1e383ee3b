// Builds the C++ part from source, and tests it: `node build.mjs` and the modes of the engine's tools; `doubles` builds the test doubles.
import { buildTests } from '../engine/tools/builds.mjs';
import { runMode } from '../engine/tools/modes.mjs';

await runMode(process.argv[2], { doubles: () => buildTests('release', ['coll_nccl', 'coll_doubles']) });
