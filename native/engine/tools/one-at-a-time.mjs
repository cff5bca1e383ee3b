import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const millisBetweenLooks = 50;

/** Builds in a folder when no other process does: two would write the same files, as when several test files need them. */
export function oneAtATime(folder, build) {
  mkdirSync(folder, { recursive: true });
  const mark = path.join(folder, '.building');
  while (!hasTaken(mark)) sleep();
  try {
    return build();
  } finally {
    rmSync(mark, { force: true });
  }
}

function hasTaken(mark) {
  try {
    writeFileSync(mark, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isLeftBehind(mark)) rmSync(mark, { force: true });
    return false;
  }
}

/** Whether the process that took it was ended before it was done. */
function isLeftBehind(mark) {
  try {
    process.kill(Number(readFileSync(mark, 'utf8')), 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

const sleep = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millisBetweenLooks);
