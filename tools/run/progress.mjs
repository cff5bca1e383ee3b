// Uses only Node's own modules, because nothing is installed yet.
import { clearScreenDown, cursorTo, moveCursor } from 'node:readline';

const stream = process.stderr;
const isLive = stream.isTTY === true;
const redrawMilliseconds = 200;
const quietMilliseconds = 10_000;

const shown = [];
let drawnLines = 0;
let timer;

/**
 * Shows on stderr that a phase has begun and how many seconds it usually takes; stdout belongs to the program that
 * follows. In a terminal, the line of the phase is updated while it runs. Elsewhere, a line is printed when the phase
 * begins, every ten seconds, and when it ends.
 */
export function showPhase(name, doing, usualSeconds) {
  const begin = performance.now();
  const seconds = () => (performance.now() - begin) / 1000;
  const line = { name, doing, usually: about(usualSeconds), detail: '', outcome: undefined, seconds };
  shown.push(line);
  let reminder;
  if (isLive) {
    redraw();
    timer ??= setInterval(redraw, redrawMilliseconds).unref();
  } else {
    stream.write(`${name}: ${doing}, usually ${line.usually} ...\n`);
    reminder = setInterval(() => stream.write(`${name}: ${stateOf(line)}\n`), quietMilliseconds).unref();
  }
  return {
    /** Shows what the phase is doing. Undefined: nothing new. */
    detail(text) {
      line.detail = text ?? line.detail;
    },
    /** Ends the phase. `outcome` is `done`, or how the phase failed. `notes` are lines to print below. */
    end(outcome, notes = '') {
      clearInterval(reminder);
      const seconds = line.seconds().toFixed(1);
      line.outcome = `${outcome}, ${seconds} s`;
      line.notes = notes;
      if (!isLive) {
        stream.write(`${name}: ${line.outcome}\n${notes}`);
        return;
      }
      redraw();
      if (shown.every((other) => other.outcome !== undefined)) rest();
    },
  };
}

/**
 * Prints how long a command usually takes that prints its own progress in a terminal. Elsewhere, also prints every ten
 * seconds how long it has run.
 * @returns a function to call when the command has ended
 */
export function announce(name, doing, usualSeconds) {
  const begin = performance.now();
  stream.write(`${name}: ${doing}, usually ${about(usualSeconds)} ...\n`);
  const passed = () => Math.round((performance.now() - begin) / 1000);
  const reminder = isLive ? undefined : setInterval(() => stream.write(`${name}: ${passed()} s\n`), quietMilliseconds);
  return () => clearInterval(reminder);
}

const about = (seconds) => (seconds < 100 ? `about ${seconds} s` : `about ${Math.round(seconds / 60)} minutes`);

function redraw() {
  if (drawnLines > 0) {
    moveCursor(stream, 0, -drawnLines);
    cursorTo(stream, 0);
    clearScreenDown(stream);
  }
  const text = shown.map(textOf).join('');
  stream.write(text);
  drawnLines = text.split('\n').length - 1;
}

/** Leaves the line in place, with the notes below it, so that the next phase can begin. */
function rest() {
  stream.write(shown.map(({ notes }) => notes).join(''));
  clearInterval(timer);
  timer = undefined;
  shown.length = 0;
  drawnLines = 0;
}

const nameColumns = 10;

function textOf(line) {
  const state = line.outcome ?? stateOf(line);
  // A wrapped line would count as one line, but take two.
  return `${`${line.name.padEnd(nameColumns)}${line.doing} · ${state}`.slice(0, stream.columns - 1)}\n`;
}

const stateOf = ({ usually, detail, seconds }) =>
  `${Math.floor(seconds())} s, usually ${usually}${detail === '' ? '' : ` · ${detail}`}`;
