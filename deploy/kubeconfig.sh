#!/bin/sh
# Print a kubeconfig for the console: kubeconfig.sh runtime|quota|node
# Uses kubectl with its current context, whose server and certificate authority it takes over. The account's token lies
# in a secret of its own in the cluster and is good until that secret is deleted.
set -eu

namespace=sluice-system

fail() {
    echo "$*" >&2
    exit 1
}

case "${1-}" in
runtime | quota | node) account="sluice-$1" ;;
*) fail "usage: $0 runtime|quota|node" ;;
esac

context() {
    kubectl config view --minify --flatten --raw --output "jsonpath={.clusters[0].cluster.$1}"
}

server=$(context server)
authority=$(context certificate-authority-data)
[ -n "$server" ] || fail "kubectl has no current context."
[ -n "$authority" ] || fail "The current context has no certificate authority: the console needs one."

kubectl --namespace "$namespace" get serviceaccount "$account" --output name >/dev/null ||
    fail "There is no account $account yet: kubectl apply -f deploy/rbac.yaml"

kubectl apply --filename - >/dev/null <<SECRET
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: $account-token
  namespace: $namespace
  annotations:
    kubernetes.io/service-account.name: $account
SECRET

token=""
tries=0
while [ -z "$token" ]; do # the cluster fills the secret in a moment
    tries=$((tries + 1))
    [ "$tries" -le 30 ] || fail "The cluster did not give $account a token."
    [ "$tries" -eq 1 ] || sleep 1
    token=$(kubectl --namespace "$namespace" get secret "$account-token" --output 'jsonpath={.data.token}')
done
token=$(printf %s "$token" | base64 -d)

cat <<KUBECONFIG
apiVersion: v1
kind: Config
current-context: $account
contexts:
  - name: $account
    context: {cluster: cluster, user: $account}
clusters:
  - name: cluster
    cluster:
      server: $server
      certificate-authority-data: $authority
users:
  - name: $account
    user:
      token: $token
KUBECONFIG
