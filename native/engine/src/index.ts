export { configureNative, type NativeOptions } from './configure.js';
export { native } from './engine.js';
export type { Thresholds } from './thresholds.js';
