#!/bin/sh
# Install a wheel or an sdist in an empty environment, and do there what a new user does first.
# try.sh PACKAGE ENVIRONMENT CONSTRAINTS
set -eu
package=$(realpath "$1") environment=$(realpath -m "$2") constraints=$(realpath "$3")
rm -rf "$environment"
"${PYTHON:-python3}" -m venv "$environment"
"$environment/bin/pip" install --quiet -c "$constraints" "$package"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PATH="$environment/bin:$PATH"
python -c "import sys, transa; assert transa.__file__.startswith(sys.prefix), transa.__file__; print(transa.__version__)"
# Without any extra: train, evaluate, predict.
transa train nations --model transe --out run --set epochs=2
transa evaluate run
transa predict run --head usa --relation treaties
python -c "import transa; print(transa.load_model('run').evaluate())"
# The demo draws a picture.
pip install --quiet -c "$constraints" "$package[plot]"
transa demo
