export type { GroupExplanation } from './explanation.js';
export { openProcessGroup } from './open-process-group.js';
export type { OpenedProcessGroup } from './opened-process-group.js';
export type { OpenProcessGroupOptions } from './options.js';
