// The binary must load wherever Node does.
import { readFileSync } from 'node:fs';
import { CommandFailed } from './run-to-end.mjs';

// glibc 2.28 is what Node asks for. The oldest distributions that have it come with GCC 8's libstdc++.
const newest = { GLIBC: '2.28', GLIBCXX: '3.4.25', CXXABI: '1.3.11' };

/** Throws where a binary for glibc asks for newer versions of the system's libraries than Node's users have. */
export function checkSystemSymbols(file) {
  const text = readFileSync(file, 'latin1');
  for (const [library, limit] of Object.entries(newest)) {
    const versions = [...text.matchAll(new RegExp(`\\0${library}_([0-9.]+)(?=\\0)`, 'g'))].map((match) => match[1]);
    const tooNew = versions.filter((version) => isNewer(version, limit));
    if (tooNew.length > 0) {
      throw new CommandFailed(
        `${file} wants ${library}_${tooNew.join()}; the newest allowed is ${limit} (objdump -T shows who)`,
      );
    }
  }
}

function isNewer(version, limit) {
  const [ours, theirs] = [version, limit].map((text) => text.split('.').map(Number));
  const different = ours.findIndex((number, index) => number !== theirs[index]);
  return different >= 0 && ours[different] > (theirs[different] ?? -1);
}
