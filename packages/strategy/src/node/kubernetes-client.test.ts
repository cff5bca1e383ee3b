import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { kubernetesClient } from './kubernetes-client.js';

it('kubernetesClient throws an error if the process does not run in Kubernetes', () => {
  expect(() => kubernetesClient({})).toThrow(
    expect.objectContaining({
      name: 'RuntimeError',
      code: 'ERR_COLL_CLUSTER',
      message: expect.stringContaining('this process does not run in a Kubernetes cluster; pass your own client'),
    }),
  );
});

it('the Kubernetes client reports why it cannot list pods, such as a missing service account', async () => {
  const client = kubernetesClient({ KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' });
  await expect(client.listPods('app=train')).rejects.toMatchObject({
    name: 'RuntimeError',
    code: 'ERR_COLL_CLUSTER',
    message: expect.stringMatching(/^the Kubernetes API server returned no list of pods: ENOENT.*serviceaccount/),
    cause: { code: 'ENOENT' },
  });
});

// A self-signed certificate for 127.0.0.1 and its key, created for this test only.
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgoUx8+nkNrCmUQ41r
rRokqNrolAFyz0ULyigA3W9te3ChRANCAASyW8h6ukxWCe2krrCVJB5DAYfZqww4
D6NAprCXUOkN+QiU/ipvpwJBdvfiSBa7/FpW0awAG/CHMhKH+W8J8JRr
-----END PRIVATE KEY-----`;
const certificate = `-----BEGIN CERTIFICATE-----
MIIBhjCCASygAwIBAgIUG6jIMJP3fWxp/M3fnS7ulqCgPRMwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjUxODUyNTRaGA8yMTI2MTEwMTE4NTI1
NFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLJb
yHq6TFYJ7aSusJUkHkMBh9mrDDgPo0CmsJdQ6Q35CJT+Km+nAkF29+JIFrv8WlbR
rAAb8IcyEof5bwnwlGujZDBiMB0GA1UdDgQWBBQYha3IMrUvwJnrbPiiOPsxTmBx
KTAfBgNVHSMEGDAWgBQYha3IMrUvwJnrbPiiOPsxTmBxKTAPBgNVHRMBAf8EBTAD
AQH/MA8GA1UdEQQIMAaHBH8AAAEwCgYIKoZIzj0EAwIDSAAwRQIgJirbJgmwsWM/
2/t/LUpDjUpi519ZfamYykgOJfn04OECIQDBf6TV7m/J2xlN3nT3VQqMWzpUssNX
+yE9TZA1VTyQMQ==
-----END CERTIFICATE-----`;

/**
 * The pods that a client lists if the API server sends this answer, and the requests that the
 * server received.
 */
async function listedFrom(answer: unknown, labelSelector: string) {
  const asked: IncomingMessage[] = [];
  const server = createServer({ key, cert: certificate }, (request, response) => {
    asked.push(request);
    response.end(JSON.stringify(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const account = await mkdtemp(path.join(tmpdir(), 'coll-account-'));
  await writeFile(path.join(account, 'ca.crt'), certificate);
  await writeFile(path.join(account, 'token'), 'secret\n');
  const { port } = server.address() as AddressInfo;
  const variables = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) };
  try {
    const listed = await kubernetesClient(variables, account).listPods(labelSelector);
    return { listed, asked: asked.map(({ url, method, headers }) => ({ url, method, token: headers.authorization })) };
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(account, { recursive: true });
  }
}

it('the Kubernetes client requests the pods of a label selector with the token of the service account', async () => {
  const pods = {
    items: [
      { metadata: { name: 'w-0' }, status: { phase: 'Running', hostIP: '10.0.0.1', podIP: '172.16.0.1' } },
      { metadata: { name: 'w-1' }, status: { phase: 'Pending' } },
      { metadata: {} },
      {},
    ],
  };
  expect(await listedFrom(pods, 'app=train,tier in (a)')).toEqual({
    listed: [
      { name: 'w-0', phase: 'Running', hostIP: '10.0.0.1', podIP: '172.16.0.1' },
      { name: 'w-1', phase: 'Pending', hostIP: '', podIP: undefined },
      { name: '', phase: 'unknown', hostIP: '', podIP: undefined },
      { name: '', phase: 'unknown', hostIP: '', podIP: undefined },
    ],
    asked: [
      {
        url: '/api/v1/pods?labelSelector=app%3Dtrain%2Ctier%20in%20(a)',
        method: 'GET',
        token: 'Bearer secret',
      },
    ],
  });
});

it('the Kubernetes client returns no pods if the API server answers without items', async () => {
  expect((await listedFrom({}, 'app=train')).listed).toEqual([]);
});
