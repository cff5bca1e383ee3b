import { expect, it } from 'vitest';
import { kubernetesClient } from './kubernetes-client.js';

it('reports that the process runs in no cluster', () => {
  expect(() => kubernetesClient({})).toThrow(
    expect.objectContaining({
      name: 'RuntimeError',
      code: 'ERR_COLL_CLUSTER',
      message: expect.stringContaining('this process runs in no Kubernetes cluster; pass a client of your own'),
    }),
  );
});

it('reports why the pods cannot be listed, such as a pod without an account', async () => {
  const client = kubernetesClient({ KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' });
  await expect(client.listPods('app=train')).rejects.toMatchObject({
    name: 'RuntimeError',
    code: 'ERR_COLL_CLUSTER',
    message: expect.stringMatching(/^the Kubernetes API server gives no list of pods: ENOENT.*serviceaccount/),
    cause: { code: 'ENOENT' },
  });
});
