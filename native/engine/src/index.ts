export { native } from './engine.js';
export { NativeCommunicator } from './native-communicator.js';
export { NativeThreadCommunicator } from './native-thread-communicator.js';
export type { MemoryHandle, ProcessBinding, SegmentHandle } from './process-binding.js';
export { ProcessCommunicator } from './process-communicator.js';
export { type LocalRank, NativeProcessGroup } from './process-group.js';
export { processBinding } from './processes.js';
export type { StallListener } from './stall-watch.js';
