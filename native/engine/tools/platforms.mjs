// Where there is, or shall be, a package with the binary, and how it is built.
import path from 'node:path';

const toolchain = (name) => [
  `CMAKE_TOOLCHAIN_FILE=${path.resolve(import.meta.dirname, `../toolchains/${name}.cmake`)}`,
];
const onMac = (cpu) => [`CMAKE_OSX_ARCHITECTURES=${cpu}`, 'CMAKE_OSX_DEPLOYMENT_TARGET=11.0'];

/**
 * `settings` are CMake's: how to build it elsewhere. Without any it is built on a machine of its kind, such as a container.
 * `emulator` runs its tests elsewhere, `strip` takes the symbols out that only a debugger reads.
 */
export const platforms = {
  'linux-x64-gnu': { os: 'linux', cpu: 'x64', libc: 'glibc', strip: ['strip'] },
  'linux-arm64-gnu': {
    os: 'linux',
    cpu: 'arm64',
    libc: 'glibc',
    settings: toolchain('linux-arm64-gnu'),
    emulator: ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'],
    strip: ['aarch64-linux-gnu-strip'],
  },
  'linux-x64-musl': { os: 'linux', cpu: 'x64', libc: 'musl', strip: ['strip'] },
  'linux-arm64-musl': { os: 'linux', cpu: 'arm64', libc: 'musl', strip: ['strip'] },
  'darwin-arm64': { os: 'darwin', cpu: 'arm64', settings: onMac('arm64'), strip: ['strip', '-x'] },
  'darwin-x64': { os: 'darwin', cpu: 'x64', settings: onMac('x86_64'), strip: ['strip', '-x'] },
  'win32-x64': { os: 'win32', cpu: 'x64', settings: toolchain('win32-x64'), strip: ['x86_64-w64-mingw32-strip'] },
};

/** The platform that this process runs on; undefined where it is not in the table. */
export function thisPlatform() {
  const { glibcVersionRuntime } = process.report.getReport().header;
  const libc = process.platform === 'linux' ? (glibcVersionRuntime === undefined ? 'musl' : 'glibc') : undefined;
  const names = Object.keys(platforms);
  return names.find((name) => {
    const { os, cpu, libc: itsLibc } = platforms[name];
    return os === process.platform && cpu === process.arch && itsLibc === libc;
  });
}
