import type { Communicator } from '@coll/core';
import { recorder, setRecorder } from '@coll/core/internal';
import { openRecord } from '@coll/native/record';
import type { Trial } from '../trial.js';
import type { Buffers } from './buffers.js';
import { collectiveSubject } from './collective-subject.js';
import type { Subject } from './subject.js';

let own: typeof recorder;

/** A communicator's all-reduce with the recorder of this thread, or without a recorder. */
export function recordedSubject(
  communicator: Communicator,
  buffers: Buffers,
  trial: Trial,
  isRecorded: boolean,
): Subject {
  openRecord();
  own ??= recorder;
  const subject = collectiveSubject(communicator, buffers, trial);
  const used = isRecorded ? own : undefined;
  return {
    ...subject,
    call() {
      setRecorder(used);
      return subject.call();
    },
  };
}
