import { CollError, type Link, RuntimeError } from '@coll/core';
import { joinLogOrigin, quote, recorder, type StallListener } from '@coll/core/internal';
import type { Algorithm } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { type Calibration, type NativeBinding, ownThresholds } from '@coll/native/addon';
import { openRecord } from '@coll/native/record';
import { type Store, StoreRendezvous } from '@coll/rendezvous';
import { addressOf, hasStallReader, jobStore, release } from '@coll/rendezvous/internal';
import { abortedError, awaitAllOpened } from './all-opened.js';
import { gatherAuthentic } from './authentic-records.js';
import { connectAll, type Mesh } from './connections.js';
import { type DataListener, dataConnections, listenForData } from './data-listener.js';
import { Descriptors } from './descriptors.js';
import { exitError, FailureDetector } from './failure-detector.js';
import { logInsecure, logListening, logRuntimes } from './group-lines.js';
import { thisHost } from './host.js';
import { findLinks, type Links } from './links.js';
import { type Connection, Listener } from './listener.js';
import { doAllShareCores, localRankOf } from './local-rank.js';
import { type MemberConfig, memberOf } from './member-config.js';
import { launcherStoreOf, storeOf } from './member-store.js';
import { neighboursOf } from './neighbours.js';
import { OpenedGroup, type OpenedGroupOptions } from './opened-group.js';
import type { OpenedProcessGroup } from './opened-process-group.js';
import type { OpenProcessGroupOptions } from './options.js';
import { groupVersion, type PeerInfo, peerInfoOf, readPeerInfo, requireCompatible } from './peer-info.js';
import { type ProcessBinding, processBinding, type SegmentHandle } from './process-binding.js';
import { NativeProcessGroup } from './process-group.js';
import { recordedMember } from './recorded-member.js';
import { sealSecret } from './sealed-secret.js';
import { isChecksummedBetween, isSealedBetween, ownCipher, protectionOf } from './sealing.js';
import { SharedSegments } from './shared-memory.js';
import { Sockets } from './sockets.js';
import { splitOf } from './split-process-group.js';
import { stallListener, watchOperation } from './stalls.js';
import { agreedThresholds, proposedThresholds, reportOverruled } from './thresholds.js';

/**
 * Opens a group of processes; members may also be threads. Every member calls this function with
 * its own rank, and gets the group once all members are connected. From then on the store is not
 * needed, and the process that hosts it may block. Under `coll run` no options are needed. Under
 * another launcher (`mpirun`, `srun`, torchrun and others, or with TF_CONFIG) rank 0 hosts the
 * store, and `COLL_JOB_KEY` is needed unless the launcher can pass a key on. A process may be a
 * member of several groups.
 * @throws ValueError for invalid options; RuntimeError (ERR_COLL_CLUSTER) if members' settings do
 * not match, or the system lacks what a group needs; CollError (ERR_COLL_STORE) if members have a
 * different job key, job, size or version, or the same rank; CollError (ERR_COLL_REFUSED) if shared
 * memory was requested, but members cannot share memory; UnavailableError (ERR_COLL_STORE) if a
 * newer generation has begun; CollError (ERR_COLL_NO_ENGINE) if the platform has no native engine;
 * DeadlineExceededError that names the members that did not arrive; AbortedError; UnavailableError
 * if another member has exited or cannot open the group
 *
 * @example
 * ```ts
 * import { openProcessGroup } from '@coll/processes';
 * import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
 *
 * // Under `coll run`, this is only: await openProcessGroup()
 * const jobKey = TcpStoreServer.newKey();
 * const store = new MemoryStore();
 * await using group = await openProcessGroup({ store, rank: 0, size: 1, jobKey });
 * console.log(await group.allReduce('sum', new Float32Array([1, 2]))); // Float32Array(2) [ 1, 2 ]
 * ```
 */
export function openProcessGroup(options: OpenProcessGroupOptions = {}): Promise<OpenedProcessGroup> {
  return openGroup(options);
}

/** `part`: how a group that is made by `split` is a part of the whole group. */
async function openGroup(
  options: OpenProcessGroupOptions,
  part?: Pick<MemberConfig, 'whole' | 'parent'>,
): Promise<OpenedProcessGroup> {
  const launched = await launcherStoreOf(options);
  const config = { ...memberOf(launched ? { ...options, jobKey: launched.jobKey } : options), ...part };
  requireGoing(config);
  if (!part) joinLogOrigin(config.rank);
  const binding = processBinding();
  openRecord();
  // A value of COLL_THRESHOLDS that is not valid is refused before other members wait for this one.
  ownThresholds();
  const { store, isOwn, host } = await storeOf(options, config, launched);
  const member = { ...config, host };
  const { rank, size, job, generation } = member;
  recorder?.note({ kind: 'opening', text: `rank ${rank} of ${size}, job ${quote(job)}, generation ${generation}` });
  const rendezvous = rendezvousOf(store, member, options.onWait);
  const stalls = stallListener(member);
  // Without a launcher, the error at the timeout names the members that did not arrive.
  const endWatch = watchOperation(hasStallReader() ? stalls : undefined, 'open a group');
  try {
    const connected = await rendezvous
      .attempt(() => connect(member, rendezvous, binding, stalls))
      .finally(async () => {
        rendezvous.end();
        if (isOwn) await store.close();
      });
    // The store of the environment is closed, and serves this run only.
    const finish = isOwn ? undefined : () => rendezvous.finish();
    return await groupOf({ ...connected, finish }, member, rendezvous.secondsLeft, options.algorithm);
  } catch (error) {
    requireGoing(member, error);
    const failure = error instanceof CollError ? error : unable(member, error);
    recorder?.note({ kind: 'failure', text: `${failure.code}: ${failure.message}`, rank: failure.rank });
    throw failure;
  } finally {
    endWatch();
  }
}

/**
 * A member's rendezvous, in the part of the store that belongs to its job. Its first step checks
 * that release and protocol version are equal on all members.
 */
function rendezvousOf(
  store: Store,
  { rank, size, generation, job, timeoutSeconds, signal, whole }: MemberConfig,
  onWait: OpenProcessGroupOptions['onWait'],
): StoreRendezvous {
  const settings = { release, version: groupVersion };
  const operation = 'open a group';
  // While a group is split, the whole group reports lost members.
  const lossError = whole ? undefined : exitError(rank, thisHost().name);
  const options = { rank, size, generation, settings, operation, timeoutSeconds, signal, onWait, lossError };
  return new StoreRendezvous(jobStore(store, job), options);
}

/** A member that has all its connections. */
interface Connected extends Omit<OpenedGroupOptions, 'algorithm' | 'checkResults' | 'split' | 'finish'> {
  /**
   * Stops failure detection, and lets the process exit while it listens. Called once all members
   * have opened the group, or opening has failed.
   */
  readonly leave: () => void;
}

async function groupOf(
  { leave, ...connected }: Connected & Pick<OpenedGroupOptions, 'finish'>,
  member: MemberConfig,
  secondsLeft: number | undefined,
  algorithm: Algorithm = directAlgorithm(),
): Promise<OpenedGroup> {
  const split = splitOf(member, openGroup);
  const group = new OpenedGroup({ ...connected, algorithm, checkResults: member.checkResults, split });
  try {
    await awaitAllOpened(connected.group, member, secondsLeft);
    const { rank, size } = member;
    group.logOpened(member.whole !== undefined);
    recorder?.note({ kind: 'opened', text: `rank ${rank} of ${size}`, group: connected.recorded });
    return group;
  } catch (error) {
    await group.close();
    throw error;
  } finally {
    leave();
  }
}

async function connect(
  member: MemberConfig,
  rendezvous: StoreRendezvous,
  binding: ReturnType<typeof processBinding>,
  stalls: StallListener | undefined,
): Promise<Connected> {
  const native = binding.processes;
  await rendezvous.enter();
  const host = await addressOf(member.host);
  const segments = new SharedSegments(native, member, member.transport !== 'tcp');
  const { secret } = segments;
  const descriptors = new Descriptors(member, (error) => void rendezvous.fail(error));
  const sockets = new Sockets(native, descriptors);
  let listener: Listener | undefined;
  let detector: FailureDetector | undefined;
  const leave = () => {
    detector?.close();
    listener?.unref();
  };
  const stopListening = () => {
    listener?.close();
    sockets.close();
  };
  try {
    listener = await Listener.listen({ member, host, secret, sockets });
    const data = listenForData(member, host, sockets);
    const sealed = sealSecret(member, member.rank, secret);
    logListening(member, listener.address, data.port);
    const info = peerInfoOf(member, thisHost(), [listener.address], sealed, { ...data, cipher: ownCipher(native) });
    const peers = (await gatherAuthentic(rendezvous, member, { step: 'peers' }, info)).map(readPeerInfo);
    requireCompatible(peers);
    logRuntimes(member, peers);
    logInsecure(member, peers);
    const mesh: Mesh = { member, host, secret, sockets, peers, listener, rendezvous };
    detector = new FailureDetector(mesh, (error) => void rendezvous.reportLoss(error));
    const reached = await reachAll(mesh, segments, binding);
    const started = await startExecutor(native, mesh, segments, data, reached, stalls);
    const hosts = peers.map(({ hostName }) => hostName);
    return {
      ...started,
      recorded: recordedMember(member, peers, reached.links),
      binding,
      generation: member.generation,
      hosts,
      links: reached.links,
      protection: protectionOf(peers, member.rank),
      calibration: reached.calibration,
      mesh,
      leave,
      stopListening,
    };
  } catch (error) {
    leave();
    stopListening();
    throw error;
  } finally {
    descriptors.end();
    detector?.stop();
    segments.release();
  }
}

/** All connections of a member, and its memory for messages. */
interface Reached extends Links {
  /** The connections over which members detect each other's exit. */
  readonly controls: readonly Connection[];
  /** Shared memory for messages with each rank; undefined for ranks that are reached over TCP. */
  readonly rings: readonly (SegmentHandle | undefined)[];
  /** The thresholds of the group; undefined for a group that sends messages, which has none. */
  readonly calibration: Calibration | undefined;
}

async function reachAll(mesh: Mesh, segments: SharedSegments, binding: NativeBinding): Promise<Reached> {
  const { member, peers, rendezvous } = mesh;
  const neighbours = neighboursOf(member.rank, member.size);
  const connecting = connectAll(mesh, neighbours);
  const propose = () => proposedThresholds(binding, member.size);
  const found = await findLinks(member, peers, segments, rendezvous, connecting, propose);
  const { links, areAllShared, areAnyShared } = found;
  const controls = await connecting;
  if (areAllShared) {
    const calibration = agreedThresholds(found.proposed);
    reportOverruled(ownThresholds(), calibration, member.rank);
    // All members have their connections, and need no others.
    return { ...found, controls, rings: [], calibration };
  }
  const rings = segments.makeRings(ranksOver(links, 'shared-memory'), member.size);
  // A member opens the rings of others once all have made theirs.
  if (areAnyShared) await rendezvous.gather('ready', Buffer.of());
  return { ...found, controls, rings, calibration: undefined };
}

async function startExecutor(
  native: ProcessBinding,
  { member, peers, sockets, listener }: Mesh,
  segments: SharedSegments,
  { socket }: DataListener,
  { areAllShared, controls, links, rings, calibration }: Reached,
  stalls: StallListener | undefined,
): Promise<Pick<Connected, 'group' | 'memory' | 'local'>> {
  const memory = areAllShared ? segments.join() : undefined;
  let group: NativeProcessGroup | undefined;
  const local = localRankOf(peers, member.rank);
  try {
    for (const control of controls) {
      sockets.handOver(control.socket);
      listener.forget(control);
    }
    group = startGroup(native, member, peers, controls, stalls);
    const { generation } = member;
    if (memory && calibration) {
      sockets.discard(socket);
      group.useSharedMemory(memory, local, calibration.thresholds);
    } else {
      const data = dataConnections(member, peers, ranksOver(links, 'tcp'), sockets.handOver(socket));
      group.useMessages({ data, rings, generation, local, allShareCores: doAllShareCores(peers) });
    }
    return { group, memory, local };
  } catch (error) {
    // The other members already have the group.
    group?.fail('failed', `cannot create its executor: ${(error as Error).message}`);
    await group?.close();
    if (memory) native.releaseMemory(memory);
    throw error;
  }
}

function startGroup(
  binding: ProcessBinding,
  { rank, heartbeatSeconds, whole }: MemberConfig,
  peers: readonly PeerInfo[],
  controls: readonly Connection[],
  stalls: StallListener | undefined,
): NativeProcessGroup {
  const hosts = peers.map(({ hostName }) => hostName);
  const byRank = peers.map((_, other) => controls.find((control) => control.rank === other));
  const sockets = byRank.map((control) => control?.socket ?? -1);
  const seals = byRank.map((control, other) => (isSealedBetween(peers, rank, other) ? control?.seal : undefined));
  const checksummed = peers.map((_, other) => other !== rank && isChecksummedBetween(peers, rank, other));
  return new NativeProcessGroup(binding, { rank, sockets, seals, checksummed, hosts, whole, heartbeatSeconds, stalls });
}

function ranksOver(links: readonly Link[], transport: Link['transport']): readonly number[] {
  return links.filter((link) => link.transport === transport).map(({ rank }) => rank);
}

/**
 * Makes the error for an opening that fails because the system has run out of a resource, such as
 * open files.
 */
function unable({ rank }: MemberConfig, cause: unknown): CollError {
  const message = `rank ${rank} cannot open a group: ${(cause as Error).message}`;
  return new RuntimeError('ERR_COLL_CLUSTER', message, { rank, operation: 'open a group', cause });
}

/** @throws AbortedError if the caller has aborted the opening of its group */
function requireGoing(member: MemberConfig, error?: unknown): void {
  if (member.signal?.aborted) throw abortedError(member, error);
}
