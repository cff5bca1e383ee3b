// Where there is, or shall be, a package with the binary, and how it is built.
import path from 'node:path';
import { folder } from './flags.mjs';

const toolchain = (name) => [`CMAKE_TOOLCHAIN_FILE=${path.join(folder, 'toolchains', `${name}.cmake`)}`];
const onMac = (cpu) => [`CMAKE_OSX_ARCHITECTURES=${cpu}`, 'CMAKE_OSX_DEPLOYMENT_TARGET=11.0'];

/**
 * `settings` are CMake's: how to build it elsewhere. Without any it is built on a machine of its kind, such as a container.
 * `emulator` runs its tests elsewhere.
 */
export const platforms = {
  'linux-x64-gnu': { os: 'linux', cpu: 'x64', libc: 'glibc', settings: [] },
  'linux-arm64-gnu': {
    os: 'linux',
    cpu: 'arm64',
    libc: 'glibc',
    settings: toolchain('linux-arm64-gnu'),
    emulator: ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'],
  },
  'linux-x64-musl': { os: 'linux', cpu: 'x64', libc: 'musl', settings: [] },
  'linux-arm64-musl': { os: 'linux', cpu: 'arm64', libc: 'musl', settings: [] },
  'darwin-arm64': { os: 'darwin', cpu: 'arm64', settings: onMac('arm64') },
  'darwin-x64': { os: 'darwin', cpu: 'x64', settings: onMac('x86_64') },
  'win32-x64': { os: 'win32', cpu: 'x64', settings: toolchain('win32-x64') },
};
