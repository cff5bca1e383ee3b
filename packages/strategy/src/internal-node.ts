/** Internal API for Node.js, for this repository's packages of the same version. It may change in any release. */
export { flushFolder, nodeDisk, writeFlushed } from './node/node-disk.js';
