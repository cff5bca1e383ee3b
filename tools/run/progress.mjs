// Uses only Node's own modules, because nothing is installed yet.
import { clearScreenDown, cursorTo, moveCursor } from 'node:readline';

const stream = process.stderr;
const isLive = stream.isTTY === true;
const redrawMilliseconds = 200;

const shown = [];
let drawnLines = 0;
let timer;

/**
 * Shows on stderr that a phase has begun; stdout belongs to the program that follows. In a terminal, the
 * line of the phase is updated while it runs. Elsewhere, a line is printed when the phase begins and when
 * it ends.
 */
export function showPhase(name, doing) {
  const begin = performance.now();
  const line = { name, doing, detail: '', outcome: undefined, seconds: () => (performance.now() - begin) / 1000 };
  shown.push(line);
  if (isLive) {
    redraw();
    timer ??= setInterval(redraw, redrawMilliseconds).unref();
  } else {
    stream.write(`${name}: ${doing} ...\n`);
  }
  return {
    /** Shows what the phase is doing, in a terminal only. Undefined: nothing new. */
    detail(text) {
      line.detail = text ?? line.detail;
    },
    /** Ends the phase. `outcome` is `done`, or how the phase failed. `notes` are lines to print below. */
    end(outcome, notes = '') {
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

function textOf({ name, doing, detail, outcome, seconds }) {
  const state = outcome ?? `${Math.floor(seconds())} s${detail === '' ? '' : ` · ${detail}`}`;
  // A wrapped line would count as one line, but take two.
  return `${`${name.padEnd(nameColumns)}${doing} · ${state}`.slice(0, stream.columns - 1)}\n`;
}
