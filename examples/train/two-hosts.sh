#!/bin/sh
# Trains on two hosts, which are made for it on this machine: two names, two networks, and a cable between them. Linux, as root:
#
#   npm run build && sh examples/train/two-hosts.sh --epochs 2
set -eu

train="node $(dirname "$0")/../../node_modules/tsx/dist/cli.mjs $(dirname "$0")/main.ts --replicas 1"
COLL_JOB_KEY=$(head -c 24 /dev/urandom | base64)
export COLL_JOB_KEY

clean() {
  ip netns delete coll-a 2>/dev/null || true
  ip netns delete coll-b 2>/dev/null || true
}
trap clean EXIT
clean

ip netns add coll-a
ip netns add coll-b
ip link add coll-a netns coll-a type veth peer name coll-b netns coll-b
for host in a b; do
  ip -n coll-$host link set lo up
  ip -n coll-$host link set coll-$host up
done
ip -n coll-a address add 10.99.0.1/24 dev coll-a
ip -n coll-b address add 10.99.0.2/24 dev coll-b

# Runs a worker on its host.
worker() {
  host=$1 index=$2
  shift 2
  TF_CONFIG="{\"cluster\": {\"worker\": [\"10.99.0.1:2222\", \"10.99.0.2:2222\"]}, \"task\": {\"type\": \"worker\", \"index\": $index}}" \
    ip netns exec "coll-$host" unshare --uts sh -c "hostname $host && exec $train $*"
}

worker b 1 "$@" &
worker a 0 "$@"
wait
