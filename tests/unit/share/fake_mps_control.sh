#!/bin/sh
# Stands in for nvidia-cuda-mps-control where there is no GPU: `-d` leaves a daemon and a server behind, as the
# real one does, and `quit` on the input of another call ends them. FAKE_MPS_MODE makes it misbehave;
# FAKE_MPS_PIDS names a file that gets the process numbers of all that it starts.
case "${1:-}" in
-d)
  case "${FAKE_MPS_MODE:-}" in
  refuses)
    echo "Cannot create a pipe" >&2
    echo "for reasons of its own" >&2
    exit 3
    ;;
  hangs) exec sleep 1000 ;;
  esac
  setsid sh -c '
    echo $$ >"$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"
    setsid sleep 1000 &
    server=$!
    echo "$$ $server" >>"$FAKE_MPS_PIDS"
    echo "$CUDA_VISIBLE_DEVICES" >"$CUDA_MPS_LOG_DIRECTORY/gpus.txt"
    touch "$CUDA_MPS_PIPE_DIRECTORY/control"
    while [ ! -e "$CUDA_MPS_PIPE_DIRECTORY/quit" ]; do sleep 0.02; done
    [ "$FAKE_MPS_MODE" = leaves_its_server ] || kill $server
  ' </dev/null >/dev/null 2>&1 &
  while [ ! -e "$CUDA_MPS_PIPE_DIRECTORY/control" ]; do sleep 0.02; done
  [ "${FAKE_MPS_MODE:-}" != stuck ] || exec sleep 1000
  ;;
*)
  [ "${FAKE_MPS_MODE:-}" != stuck ] || exec sleep 1000
  read -r word rest
  [ "${FAKE_MPS_MODE:-}" = stays ] || [ "$word" != quit ] || touch "$CUDA_MPS_PIPE_DIRECTORY/quit"
  ;;
esac
