/**
 * The function that loads the C++ addon, for packages of the same version that call the addon
 * directly.
 */

export { findBinding, platformPackage, published } from './binding.js';
export { type Calibration, calibration, describeCalibration, findCalibration, ownThresholds } from './calibration.js';
export type { Held, Offering } from './handles.js';
export { nativeBinding } from './loaded-binding.js';
export { type NativeBinding, nativeInterface, status } from './native-binding.js';
export { noMessages, type PrepareMessages, Programs } from './programs.js';
export { SpareHandles } from './spare-handles.js';
export { listOf, type ThresholdList, type Thresholds, thresholdsOf, usualThresholds } from './thresholds.js';
