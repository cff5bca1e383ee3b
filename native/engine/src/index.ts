export { native } from './engine.js';
export { NativeCommunicator } from './native-communicator.js';
export { NativeThreadCommunicator } from './native-thread-communicator.js';
