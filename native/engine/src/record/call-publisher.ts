import { channel, tracingChannel } from 'node:diagnostics_channel';
import {
  type CallEvent,
  type CallRecorder,
  callEvent,
  groupEvent,
  groupLostEvent,
  messageEvent,
  type RecordedCall,
  type RecordedCommunicator,
  type RecordedGroup,
  type RecordedMessage,
  type RecordedNote,
} from '@coll/core/internal';

const calls = tracingChannel<CallEvent, CallEvent>('coll:collective');
const groups = {
  opened: channel('coll:group:opened'),
  failure: channel('coll:group:lost'),
  closed: channel('coll:group:closed'),
} as const;

interface OpenCall {
  readonly event: CallEvent;
  /** Whether the caller goes on although the call has not ended. */
  hasReturned: boolean;
}

/**
 * Publishes the calls and groups of this thread to the channels of `node:diagnostics_channel`, by the
 * conventions of `tracingChannel`, and passes them on to a recorder. Without subscribers, a call costs
 * a look at the channels.
 */
export class CallPublisher implements CallRecorder {
  readonly #recorder: CallRecorder;
  readonly #open = new Map<number, OpenCall>();

  /** Default: nothing is recorded */
  constructor(recorder: CallRecorder = new CallCounter()) {
    this.#recorder = recorder;
  }

  begin(communicator: RecordedCommunicator, call: RecordedCall, isQueued: boolean): number {
    if (!isHeard()) return this.#recorder.begin(communicator, call, isQueued);
    const event = callEvent(communicator, call);
    // Before the recorder looks at the clock.
    calls.start.publish(event);
    return this.#add(event, this.#recorder.begin(communicator, call, isQueued));
  }

  message(group: RecordedGroup, message: RecordedMessage): number {
    if (!isHeard()) return this.#recorder.message(group, message);
    const event = messageEvent(group, message);
    calls.start.publish(event);
    return this.#add(event, this.#recorder.message(group, message));
  }

  leave(number: number): void {
    this.#recorder.leave(number);
    if (this.#open.size > 0) this.#return(number);
  }

  resume<T>(number: number, action: () => T): T {
    return this.#recorder.resume(number, action);
  }

  end(number: number, isDone: boolean, error?: unknown): void {
    this.#recorder.end(number, isDone, error);
    if (this.#open.size > 0) this.#end(number, isDone, error);
  }

  progress(steps: number, samples: number): void {
    this.#recorder.progress(steps, samples);
  }

  note(note: RecordedNote): void {
    this.#recorder.note(note);
    const { kind, group } = note;
    // A group of one thread is neither opened nor closed.
    if (!group || group.identity.rank < 0) return;
    if (kind === 'failure') {
      if (groups.failure.hasSubscribers) groups.failure.publish(groupLostEvent(group, note.error, note.rank));
    } else if (kind === 'opened' || kind === 'closed') {
      if (groups[kind].hasSubscribers) groups[kind].publish(groupEvent(group));
    }
  }

  #add(event: CallEvent, number: number): number {
    this.#open.set(number, { event, hasReturned: false });
    return number;
  }

  #return(number: number): void {
    const open = this.#open.get(number);
    if (!open) return;
    open.hasReturned = true;
    calls.end.publish(open.event);
  }

  #end(number: number, isDone: boolean, error: unknown): void {
    const open = this.#open.get(number);
    if (!open) return;
    this.#open.delete(number);
    const { event, hasReturned } = open;
    if (isDone) event.result = undefined;
    else {
      event.error = error;
      calls.error.publish(event as CallEvent & { error: unknown });
    }
    if (hasReturned) {
      calls.asyncStart.publish(event);
      calls.asyncEnd.publish(event);
    } else calls.end.publish(event);
  }
}

/** Keeps the numbers of calls equal on all ranks, and nothing else. */
class CallCounter implements CallRecorder {
  #calls = 0;

  begin({ group }: RecordedCommunicator): number {
    group.calls++;
    return ++this.#calls;
  }

  message(): number {
    return ++this.#calls;
  }

  leave(): void {}

  resume<T>(_number: number, action: () => T): T {
    return action();
  }

  end(): void {}
  note(): void {}
  progress(): void {}
}

// `hasSubscribers` of the tracing channel does the same, but not every runtime has it.
function isHeard(): boolean {
  const { start, end, asyncStart, asyncEnd, error } = calls;
  return (
    start.hasSubscribers ||
    end.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    error.hasSubscribers ||
    asyncStart.hasSubscribers
  );
}
