// Runs before anything is installed: Node's own modules only.
import { clearScreenDown, cursorTo, moveCursor } from 'node:readline';

const stream = process.stderr;
const isLive = stream.isTTY === true;
const redrawMilliseconds = 200;

const shown = [];
let drawnLines = 0;
let timer;

/**
 * Shows that a phase has begun, on stderr, because stdout belongs to the program that follows. In a terminal its line stays up to date
 * while it runs; elsewhere it gets one line when it begins and one when it ends.
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
    /** Says what the phase is at, undefined if nothing new; seen in a terminal only. */
    detail(text) {
      line.detail = text ?? line.detail;
    },
    /** Ends the phase: `outcome` is `done` or says how it failed; what else there is to say goes into `notes`, whole lines. */
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

/** What is shown stays, with the notes, which may be long, below it. Then the next phase may begin. */
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
  // A line that wraps would count as one and be two.
  return `${`${name.padEnd(nameColumns)}${doing} · ${state}`.slice(0, stream.columns - 1)}\n`;
}
