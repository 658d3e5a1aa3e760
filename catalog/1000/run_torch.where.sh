#!/bin/bash
# torch.where 反向：精度、小值域、内存、确定性
# usage: bash run_torch.where.sh [accuracy|small|memory|deterministic]
set -e
cd "$(dirname "$0")"
plugin=ascend_generate_torch_where.py

accuracy() {
    atk case -f torch.where_backward.yaml -p ascend_generate_torch_where.py
    atk task -c result/torch.where_backward/json/all_torch.where_backward.json -n npu_cpu.yaml -p ascend_generate_torch_where.py --task accuracy
}

small() {
    atk case -f float_small_torch.where_backward.yaml -p $plugin
    atk task -c result/float_small_torch.where_backward/json/all_float_small_torch.where_backward.json -n npu_cpu.yaml -p $plugin --task accuracy
    atk case -f float_small_nd_torch.where_backward.yaml -p $plugin
    atk task -c result/float_small_nd_torch.where_backward/json/all_float_small_nd_torch.where_backward.json \
        -n npu_cpu.yaml -p $plugin --task accuracy
}

memory() {
    # 内存检测复用精度用例，不比较数值
    mssanitizer --tool=memcheck -- atk task -c result/torch.where_backward/json/all_torch.where_backward.json -n nodes_mem_npu.yaml -p $plugin --task run --mssanitizer
}

deterministic() {
    atk case -f torch.where_deterministic_backward.yaml -p $plugin
    atk task -c result/torch.where_deterministic_backward/json/all_torch.where_deterministic_backward.json -n npu_cpu_dc.yaml -p $plugin --task accuracy_dc --dc_loop_nums 50
}

if [ $# -eq 0 ]; then
    accuracy; small; memory; deterministic
else
    "$1"
fi
