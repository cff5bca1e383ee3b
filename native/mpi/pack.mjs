// Packs @coll/mpi and the packages with its binaries: `node pack.mjs <folder> [<platform> ...]`, this platform unless said.
import { packInto } from '../engine/tools/packing.mjs';

const [target, ...asked] = process.argv.slice(2);
await packInto(target, asked);
