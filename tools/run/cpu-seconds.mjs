// CPU time of processes, as Linux tells it in /proc.
import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** Of the children of this process that have ended, with theirs. */
export const cpuSecondsOfChildren = () => statOf('self').childrenTicks / ticksPerSecond;

/** Of a process and all below it, whether they still run or have ended. */
export function cpuSecondsOfTree(pid) {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statIfThere(name))
    .filter((stat) => stat !== undefined);
  const sum = (stat) =>
    all
      .filter(({ parent }) => parent === stat.pid)
      .reduce((total, child) => total + sum(child), stat.ownTicks + stat.childrenTicks);
  const top = all.find((stat) => stat.pid === pid);
  return top === undefined ? 0 : sum(top) / ticksPerSecond;
}

function statOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the command is in parentheses and may hold any.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15);
  return {
    pid: Number.parseInt(text, 10),
    parent: fields[1],
    ownTicks: user + system,
    childrenTicks: childrenUser + childrenSystem,
  };
}

/** Undefined if the process has ended in the meantime. */
function statIfThere(pid) {
  try {
    return statOf(pid);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error;
    return undefined;
  }
}
