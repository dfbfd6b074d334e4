#!/usr/bin/env python3
"""Trains the ranker of code search from the output of `search_bench features` and writes its trees.

usage: train.py FEATURES.jsonl [--history FEATURES.jsonl] [--lexical] [--out MODEL] [--drop NAME,...]

--history adds the features of commit messages (`commits.py`), with half the weight, so that the order is also good for long
texts that are not questions.

Prints NDCG@10 (mean of languages) with cross-validation by repository: every repository is ranked by models that were
trained on other repositories. With --out, trains on all repositories and writes the model as text: one line per tree.
Needs numpy and lightgbm. Nothing of the repositories is stored in the model.
"""
import argparse, json, math
from collections import defaultdict
import numpy as np
import lightgbm as lgb

SEMANTIC = ("similarity", "summary_", "path_similarity", "path_relative", "stem_similarity", "stem_relative", "similar", "fused_semantic", "fixed", "semantic")


def load(path):
    rows = [json.loads(line) for line in open(path)]
    return rows[0]["features"], rows[1:]


def is_semantic(name):
    return any(name.startswith(s) or "similar" in name for s in SEMANTIC) and name != "fixed_lexical" and not name.startswith("lexical")


def groups_of(rows):
    groups = defaultdict(list)
    for i, row in enumerate(rows):
        groups[(row["repo"], row["query"])].append(i)
    return groups


def ndcg(rows, order):
    labels = [rows[i]["label"] for i in order[:10]]
    ideal = sum(1 / math.log2(i + 2) for i in range(min(10, rows[order[0]]["targets"])))
    return sum(label / math.log2(i + 2) for i, label in enumerate(labels)) / ideal


def evaluate(rows, groups, scores):
    """Mean of languages of means of repositories, and the scores by category."""
    repos, kinds, language = defaultdict(list), defaultdict(list), {}
    for (repo, _), members in groups.items():
        order = sorted(members, key=lambda i: (-scores[i], rows[i]["path"]))
        value = ndcg(rows, order)
        repos[repo].append(value)
        kinds[rows[members[0]]["category"]].append(value)
        language[repo] = rows[members[0]]["language"]
    languages = defaultdict(list)
    for repo, values in repos.items():
        languages[language[repo]].append(np.mean(values))
    return float(np.mean([np.mean(v) for v in languages.values()])), {k: round(float(np.mean(v)), 4) for k, v in kinds.items()}, {r: round(float(np.mean(v)), 3) for r, v in repos.items()}


HISTORY_WEIGHT = 0.5
PARAMS = dict(objective="lambdarank", learning_rate=0.06, num_leaves=8, min_data_in_leaf=40, max_bin=63, force_col_wise=True, feature_fraction=0.4, bagging_fraction=0.7, bagging_freq=1,
              lambda_l2=5.0, max_position=10, lambdarank_truncation_level=12, verbose=-1, num_threads=1, min_sum_hessian_in_leaf=0.0, label_gain=[0, 1])


def train(X, y, weight, group, seed, rounds, params):
    data = lgb.Dataset(X, label=y, group=group, weight=weight, free_raw_data=False)
    return lgb.train({**params, "seed": seed}, data, num_boost_round=rounds)


def arrange(rows, groups, X, keys):
    index, sizes = [], []
    for key in keys:
        index += groups[key]
        sizes.append(len(groups[key]))
    index = np.array(index)
    return X[index], np.array([rows[i]["label"] for i in index]), index, sizes


def weighted(rows, groups, X, keys, is_history):
    """The training data of some groups."""
    Xt, y, index, sizes = arrange(rows, groups, X, keys)
    return Xt, y, np.where(is_history[index], HISTORY_WEIGHT, 1.0), sizes


def cross_validate(rows, groups, X, is_history, rounds, params, seeds=(1,), folds=8, splits=1):
    repos = sorted({key[0] for key in groups})
    total = np.zeros(len(rows))
    for split in range(splits):
        rng = np.random.RandomState(split)
        shuffled = list(rng.permutation(repos))
        for fold in range(folds):
            held = set(shuffled[fold::folds])
            keys = [key for key in groups if key[0] not in held]
            Xt, y, weight, sizes = weighted(rows, groups, X, keys, is_history)
            members = np.concatenate([groups[key] for key in groups if key[0] in held])
            for seed in seeds:
                total[members] += train(Xt, y, weight, sizes, seed, rounds, params).predict(X[members])
    return total


def write(models, names, path, features):
    lines = [f"features {len(features)}", f"trees {sum(m.num_trees() for m in models)}"]
    scale = 1 / len(models)
    for model in models:
        for tree in model.dump_model()["tree_info"]:
            nodes = []

            def walk(node):
                at = len(nodes)
                nodes.append(None)
                if "leaf_value" in node and "split_feature" not in node:
                    nodes[at] = f"{node['leaf_value'] * scale:.6g}"
                    return at
                left = walk(node["left_child"])
                right = walk(node["right_child"])
                feature = features.index(names[node["split_feature"]])
                nodes[at] = f"{feature},{float(np.float32(node['threshold'])):.9g},{right}"
                return at

            walk(tree["tree_structure"])
            lines.append(" ".join(nodes))
    open(path, "w").write("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("features")
    parser.add_argument("--history")
    parser.add_argument("--lexical", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--drop", default="")
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--importance", action="store_true")
    parser.add_argument("--repos", action="store_true")
    args = parser.parse_args()
    features, rows = load(args.features)
    rows += load(args.history)[1] if args.history else []
    dropped = set(args.drop.split(","))
    keep = [i for i, name in enumerate(features) if name not in dropped and not (args.lexical and is_semantic(name))]
    names = [features[i] for i in keep]
    X = np.array([row["features"] for row in rows], np.float32)[:, keep]
    groups = groups_of(rows)
    is_history = np.array([row["category"] == "history" for row in rows])
    params = dict(PARAMS)
    for item in args.set:
        key, value = item.split("=")
        params[key] = float(value) if "." in value else int(value) if value.lstrip("-").isdigit() else value
    if not args.out:
        scores = cross_validate(rows, groups, X, is_history, args.rounds, params, range(1, args.seeds + 1), splits=args.splits)
        for name, wanted in (("questions", False), ("commit messages", True)):
            part = {key: members for key, members in groups.items() if is_history[members[0]] == wanted}
            if part:
                mean, kinds, repos = evaluate(rows, part, scores)
                oracle = evaluate(rows, part, np.array([row["label"] for row in rows], float))[0]
                print(f"{name}: cross-validated {mean:.4f}", kinds, f"perfect order {oracle:.4f}", flush=True)
                if args.repos:
                    print(repos)
    if args.out or args.importance:
        keys = list(groups)
        Xt, y, weight, sizes = weighted(rows, groups, X, keys, is_history)
        models = [train(Xt, y, weight, sizes, seed, args.rounds, params) for seed in range(1, args.seeds + 1)]
        if args.importance:
            gain = sum(m.feature_importance("gain") for m in models)
            for i in np.argsort(-gain):
                print(f"{names[i]:28} {gain[i]:10.1f}")
        if args.out:
            write(models, names, args.out, features)
