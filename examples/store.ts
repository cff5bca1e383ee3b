// The store in which processes of several hosts meet. It serves until it is interrupted.
import { TcpStoreServer } from '@coll/rendezvous';

const {
  HOST: host = '127.0.0.1',
  PORT: port = '7600',
  COLL_JOB: job = 'ring',
  COLL_JOB_KEY: jobKey = '',
} = process.env;
await using server = await TcpStoreServer.listen({ host, port: Number(port), job, jobKey });
console.log(`COLL_STORE=${server.address}`);
await new Promise((resolve) => process.once('SIGINT', resolve));
