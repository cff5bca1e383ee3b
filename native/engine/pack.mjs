// Packs @coll/native and the packages with its binaries: `node pack.mjs <folder> [<platform> ... | --list]`, this platform unless said; with
// `--list` only the package that names the binaries in the folder.
import { packInto } from './tools/packing.mjs';

const [target, ...asked] = process.argv.slice(2);
await packInto(target, asked);
