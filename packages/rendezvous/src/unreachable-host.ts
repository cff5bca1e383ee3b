const unknownName =
  'the name of this host is unknown here: correct the name, use an IP address, or wait until DNS knows the name before you start the members';
const noRoute = 'this host has no route to the address: correct the address, or set up the network';

/** What to do about errors that do not go away when the server starts later, by their code. */
const adviceByCode: Readonly<Record<string, string>> = {
  ENOTFOUND: unknownName,
  EAI_AGAIN: unknownName,
  EAI_FAIL: unknownName,
  ENODATA: unknownName,
  ENETUNREACH: noRoute,
  EADDRNOTAVAIL: noRoute,
  EAFNOSUPPORT: noRoute,
  EINVAL: noRoute,
  EACCES: noRoute,
  EPERM: noRoute,
};

// DNS and routes of containers may be ready some seconds after their processes have started.
const longestMillis = 15_000;

/**
 * Measures for how long all attempts to connect have failed for a reason that waiting rarely removes:
 * an unknown host name or a missing route, instead of a server that has not started yet.
 */
export class UnreachableHost {
  #since: number | undefined;
  #advice = '';

  /** What to do about the latest error. */
  get advice(): string {
    return this.#advice;
  }

  /** Records the error of an attempt. Returns whether waiting has been useless for 15 seconds. */
  hasLasted(error: Error): boolean {
    const advice = adviceByCode[(error as NodeJS.ErrnoException).code ?? ''];
    this.#advice = advice ?? '';
    const now = performance.now();
    // Kubernetes publishes the name of a pod when the pod starts, which may take minutes.
    const isUseless = advice !== undefined && !(advice === unknownName && process.env['KUBERNETES_SERVICE_HOST']);
    this.#since = isUseless ? (this.#since ?? now) : undefined;
    return this.#since !== undefined && now - this.#since >= longestMillis;
  }
}
