export type { GroupExplanation } from './explanation.js';
export { type OpenedProcessGroup, openProcessGroup } from './open-process-group.js';
export type { OpenProcessGroupOptions } from './options.js';
