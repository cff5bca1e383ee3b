import { readFile } from 'node:fs/promises';
import { type RequestOptions, request } from 'node:https';
import { RuntimeError } from '@coll/core';
import { type Environment, processEnvironment } from './environment.js';

/** What is asked of a pod. */
export interface Pod {
  readonly name: string;
  /** `Running`, `Pending`, and so on. */
  readonly phase: string;
  readonly hostIP: string;
}

/** Lists the pods of all namespaces that a label selector such as `job-name=tensorflow` matches. */
export interface KubernetesClient {
  /** The pods of all namespaces that a label selector matches, in any order. */
  listPods(labelSelector: string): Promise<readonly Pod[]>;
}

interface PodList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly status?: { readonly phase?: string; readonly hostIP?: string };
  }[];
}

const account = '/var/run/secrets/kubernetes.io/serviceaccount';

/** A client of the API server of the cluster that this process runs in, by the account of its pod. @throws RuntimeError outside of a cluster */
export function kubernetesClient(variables: Environment = processEnvironment()): KubernetesClient {
  const host = variables['KUBERNETES_SERVICE_HOST'];
  const port = variables['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === undefined) {
    const cure = 'pass a client of your own: { client: { listPods(labelSelector) { … } } }';
    throw new RuntimeError('ERR_COLL_CLUSTER', `this process runs in no Kubernetes cluster; ${cure}`);
  }
  return {
    async listPods(labelSelector) {
      const path = `/api/v1/pods?labelSelector=${encodeURIComponent(labelSelector)}`;
      const [ca, token] = await Promise.all([readFile(`${account}/ca.crt`), readFile(`${account}/token`, 'utf8')]);
      const text = await get({ host, port, path, ca, headers: { authorization: `Bearer ${token.trim()}` } });
      return (JSON.parse(text) as PodList).items?.map(podOf) ?? [];
    },
  };
}

function podOf({ metadata, status }: NonNullable<PodList['items']>[number]): Pod {
  return { name: metadata?.name ?? '', phase: status?.phase ?? 'unknown', hostIP: status?.hostIP ?? '' };
}

function get(options: RequestOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown) =>
      reject(
        new RuntimeError('ERR_COLL_CLUSTER', `the Kubernetes API server gives no list of pods: ${why}`, { cause }),
      );
    const asked = request({ ...options, timeout: 10_000 }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        if (answer.statusCode === 200) resolve(text);
        else fail(`status ${answer.statusCode}; may the account of this pod list pods?`);
      });
    });
    asked.on('timeout', () => asked.destroy(new Error('no answer within 10 seconds')));
    asked.on('error', (error) => fail(error.message, error));
    asked.end();
  });
}
