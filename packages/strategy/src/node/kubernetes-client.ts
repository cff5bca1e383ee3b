import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { RuntimeError } from '@coll/core';
import { type Environment, processEnvironment } from '@coll/rendezvous/internal';
import { answerOf } from './answer-of.js';

/** The fields of a pod that are used. */
export interface Pod {
  readonly name: string;
  /** `Running`, `Pending`, and so on. */
  readonly phase: string;
  readonly hostIP: string;
  /**
   * The pod's own address. Undefined if the pod has no address yet, or the client does not report
   * it.
   */
  readonly podIP?: string | undefined;
}

/** Lists the pods of all namespaces that match a label selector such as `job-name=tensorflow`. */
export interface KubernetesClient {
  /**
   * The pods of all namespaces that match a label selector, in any order.
   * @throws RuntimeError if they cannot be listed
   */
  listPods(labelSelector: string): Promise<readonly Pod[]>;
}

interface PodList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly status?: { readonly phase?: string; readonly hostIP?: string; readonly podIP?: string };
  }[];
}

const answerMillis = 10_000;

/**
 * A client of the API server of this process's cluster, which uses the pod's service account.
 * @param account the folder with the server's certificate and the pod's token
 * @throws RuntimeError if this process does not run in a Kubernetes cluster
 */
export function kubernetesClient(
  variables: Environment = processEnvironment(),
  account = '/var/run/secrets/kubernetes.io/serviceaccount',
): KubernetesClient {
  const host = variables['KUBERNETES_SERVICE_HOST'];
  const port = variables['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === undefined) {
    const advice = 'pass your own client: { client: { listPods(labelSelector) { … } } }';
    throw new RuntimeError('ERR_COLL_CLUSTER', `this process does not run in a Kubernetes cluster; ${advice}`);
  }
  return {
    async listPods(labelSelector) {
      const path = `/api/v1/pods?labelSelector=${encodeURIComponent(labelSelector)}`;
      try {
        const [ca, token] = await Promise.all([readFile(`${account}/ca.crt`), readFile(`${account}/token`, 'utf8')]);
        const headers = { authorization: `Bearer ${token.trim()}` };
        const signal = AbortSignal.timeout(answerMillis);
        const list = (await answerOf(request({ host, port, path, ca, headers, signal }))) as PodList;
        return list.items?.map(podOf) ?? [];
      } catch (cause) {
        const message = `the Kubernetes API server returned no list of pods: ${(cause as Error).message}`;
        throw new RuntimeError('ERR_COLL_CLUSTER', message, { cause });
      }
    },
  };
}

function podOf({ metadata, status }: NonNullable<PodList['items']>[number]): Pod {
  const { phase = 'unknown', hostIP = '', podIP } = status ?? {};
  return { name: metadata?.name ?? '', phase, hostIP, podIP };
}
