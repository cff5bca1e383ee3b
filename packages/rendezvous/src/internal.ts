/** Internal API for this repository's packages of the same version. It may change in any release. */
export { generationFromEnvironment } from './environment-store.js';
export { requireJobKey } from './job-key.js';
export { makeFolder } from './make-folder.js';
export { stallReportsIn, stallSecondsFrom } from './stall.js';
export { requireStore } from './store.js';
