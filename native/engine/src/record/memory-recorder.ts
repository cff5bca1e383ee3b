import { closeSync, constants, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { log, messageOf, type RecordedNote, type RecordedThread, Recorder } from '@coll/core/internal';
import { recordFolder } from './record-folder.js';
import { noLinks, recordName } from './stored-record.js';

/** Milliseconds between two writes, so that a program that goes on after failed calls is not delayed by each. */
const leastPause = 1000;

/**
 * A recorder without a mapped file. Writes its memory to a file when a call fails or stalls, and
 * when the thread ends badly. A process that is killed leaves nothing.
 */
export class MemoryRecorder extends Recorder {
  readonly #memory: SharedArrayBuffer;
  readonly #name: string;
  #written = Number.NEGATIVE_INFINITY;

  constructor(memory: SharedArrayBuffer, thread: RecordedThread) {
    super(memory, thread);
    this.#memory = memory;
    this.#name = recordName(thread.pid, thread.process, thread.thread);
  }

  override end(number: number, isDone: boolean): void {
    super.end(number, isDone);
    if (!isDone) this.#writeSeldom();
  }

  override note(note: RecordedNote): void {
    super.note(note);
    if (note.kind === 'failure' || note.kind === 'stall') this.#writeSeldom();
  }

  override close(exitCode: number): void {
    super.close(exitCode);
    if (exitCode !== 0 || this.#written > 0) this.#write();
  }

  #writeSeldom(): void {
    if (performance.now() - this.#written >= leastPause) this.#write();
  }

  #write(): void {
    this.#written = performance.now();
    const folder = recordFolder();
    if (!('path' in folder)) return;
    const file = path.join(folder.path, this.#name);
    try {
      const flags = constants.O_WRONLY | constants.O_CREAT | noLinks;
      const descriptor = openSync(file, flags, 0o600);
      try {
        writeSync(descriptor, new Uint8Array(this.#memory));
      } finally {
        closeSync(descriptor);
      }
    } catch (error) {
      log('info', `flight recorder: cannot write ${file}: ${messageOf(error)}`);
    }
  }
}
