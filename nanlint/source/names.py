"""What a module defines: imports, functions, classes, constants; and the full name behind a dotted expression."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

# dtypes that are narrow enough to matter in plain arithmetic
NARROW = frozenset({"uint8", "int8", "int16", "int32", "int", "short", "byte", "float16", "bfloat16", "half"})
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

ALIASES = {
    "torch.nn.functional": "torch.nn.functional",
    "torch.functional": "torch",
    "torch._C._nn": "torch.nn.functional",
}


@dataclass
class ClassView:
    """A class of the module: its methods, class-level constants, and the attributes its methods assign."""

    name: str
    node: ast.ClassDef
    methods: dict[str, FunctionNode] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    annotations: dict[str, ast.expr] = field(default_factory=dict)
    assigned: dict[str, set[str]] = field(default_factory=dict)


@dataclass
class FunctionView:
    """A function or method of the module, and what a glance at its body says."""

    qualname: str
    node: FunctionNode
    owner: ClassView | None
    triggered: bool = False
    calls: frozenset[str] = frozenset()


@dataclass
class ModuleView:
    """A parsed module and its names."""

    tree: ast.Module
    lines: list[str]
    imports: dict[str, str] = field(default_factory=dict)
    functions: dict[str, FunctionNode] = field(default_factory=dict)
    classes: dict[str, ClassView] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    bodies: list[FunctionView] = field(default_factory=list)
    ascii: bool = True

    def dotted(self, node: ast.expr) -> str | None:
        """The fully qualified name of `a.b.c` where `a` is imported; None for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        base = self.imports.get(node.id)
        if base is None:
            return None
        return canonical(".".join([base, *reversed(parts)]))


def canonical(dotted: str) -> str:
    """The name torch documents for what can be imported from several places."""
    for prefix, target in ALIASES.items():
        if dotted.startswith(prefix + "."):
            return target + dotted[len(prefix) :]
    return dotted


def view(tree: ast.Module, text: str, triggers: frozenset[str]) -> ModuleView:
    """The names of a module, and of each function whether it holds a word that can blow up."""
    module = ModuleView(tree, text.split("\n"), ascii=text.isascii())
    for node in imports_of(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                bound = name.asname or name.name.split(".")[0]
                module.imports.setdefault(bound, name.name if name.asname else bound)
        elif node.module and not node.level:
            for name in node.names:
                module.imports.setdefault(name.asname or name.name, f"{node.module}.{name.name}")
        else:
            for name in node.names:
                module.imports.setdefault(name.asname or name.name, f"{'.' * node.level}{node.module or ''}.{name.name}")
    renamed = {name for name, dotted in module.imports.items() if dotted.rsplit(".", 1)[-1] in triggers}
    collect(module, tree.body, triggers | renamed)
    return module


def imports_of(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import statement of the module, those inside functions last."""
    later: list[ast.stmt] = []
    queue: list[ast.stmt] = list(tree.body)
    for queue in (queue, later):
        while queue:
            node = queue.pop(0)
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                yield node
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                later.extend(node.body)
            else:
                for part in ("body", "orelse", "finalbody"):
                    queue.extend(getattr(node, part, ()))
                for handler in getattr(node, "handlers", ()):
                    queue.extend(handler.body)


def collect(module: ModuleView, body: list[ast.stmt], triggers: frozenset[str]) -> None:
    """Functions, classes and constants of a module body, those under `if` and `try` included."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            module.functions.setdefault(node.name, node)
            module.bodies.append(glance(node.name, node, None, triggers))
        elif isinstance(node, ast.ClassDef):
            collect_class(module, node, triggers)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            module.constants[node.targets[0].id] = node.value
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            if isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(node.targets[0].elts):
                for target, value in zip(node.targets[0].elts, node.value.elts):
                    if isinstance(target, ast.Name):
                        module.constants[target.id] = value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            module.constants[node.target.id] = node.value
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                collect(module, getattr(node, part, []), triggers)


def collect_class(module: ModuleView, node: ast.ClassDef, triggers: frozenset[str]) -> None:
    """One class: its methods and constants; nested classes are left out."""
    owner = ClassView(node.name, node)
    module.classes.setdefault(node.name, owner)
    for item in node.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            owner.methods[item.name] = item
            module.bodies.append(glance(f"{node.name}.{item.name}", item, owner, triggers))
            for target in attribute_targets(item):
                owner.assigned.setdefault(target, set()).add(item.name)
        elif isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
            owner.constants[item.targets[0].id] = item.value
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            owner.annotations[item.target.id] = item.annotation
            if item.value is not None:
                owner.constants[item.target.id] = item.value


def attribute_targets(function: FunctionNode) -> Iterator[str]:
    """The names `n` of assignments to `self.n` in a method."""
    args = function.args.posonlyargs + function.args.args
    if not args:
        return
    me = args[0].arg
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == me
        ):
            yield node.attr


def glance(qualname: str, node: FunctionNode, owner: ClassView | None, triggers: frozenset[str]) -> FunctionView:
    """Whether a function holds a word that can blow up, and the plain names of what it calls."""
    calls: set[str] = set()
    triggered = False
    for item in ast.walk(node):
        if isinstance(item, ast.Call):
            name = item.func.attr if isinstance(item.func, ast.Attribute) else getattr(item.func, "id", "")
            calls.add(name)
            triggered = triggered or name in triggers or (name in NARROW and isinstance(item.func, ast.Attribute))
        elif isinstance(item, ast.Attribute):
            triggered = triggered or item.attr in NARROW
        elif isinstance(item, (ast.BinOp, ast.AugAssign)):
            triggered = triggered or isinstance(item.op, (ast.Div, ast.Pow))
    return FunctionView(qualname, node, owner, triggered, frozenset(calls))


def is_module_class(module: ModuleView, name: str, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a class of the file derives from torch.nn.Module, as far as the file tells."""
    found = module.classes.get(name)
    if found is None or name in seen:
        return False
    for base in found.node.bases:
        dotted = module.dotted(base) or ""
        if dotted.startswith(("torch.nn.", "lightning", "pytorch_lightning")) or dotted.endswith("Module"):
            return True
        if isinstance(base, ast.Name) and is_module_class(module, base.id, seen | {name}):
            return True
    return False
