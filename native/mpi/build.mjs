// Builds the C++ part from source: `node build.mjs` and the modes of the engine's tools; `doubles` builds the test double of an MPI library.
import { buildTests } from '../engine/tools/builds.mjs';
import { runMode } from '../engine/tools/modes.mjs';

await runMode(process.argv[2], { doubles: () => buildTests('release', ['coll_mpi', 'coll_doubles']) });
