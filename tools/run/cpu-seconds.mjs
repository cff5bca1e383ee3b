// CPU time of processes, from Linux' /proc.
import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** The CPU time of all ended children of this process, and of their children. */
export const cpuSecondsOfChildren = () => statOf('self').childrenTicks / ticksPerSecond;

/** The CPU time of a process and all its descendants, running or ended. */
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
  // The name of the command is in parentheses, and may contain parentheses.
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
