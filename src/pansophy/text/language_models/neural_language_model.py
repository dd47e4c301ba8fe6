"""Neural language models: a transformer or a state-space net over byte-pair tokens.

    p(w_1 ... w_N) = prod_i p(w_i | w_1 ... w_i-1),   log p = log softmax(net)     (1)

trained on the mean of -log p(w_i | before) over windows of a packed token stream
(`text.tokenizers.token_stream`). A document begins and ends with a separator: it is the
token that generation starts from, and the one that ends it. Documents that share a
window do not see each other ("isolated"), or a document sees those before it
("joined").

The nets are rows of one table: "transformer" is `nn.MODERN` (rotary positions,
normalised queries and keys, squared ReLU), "mamba" and "s4d" are the state-space blocks
of `nn`. All decode with a state: keys and values, or the state of the recurrence, so
that a token costs one step. Matrices of hidden layers are moved by Muon, the rest by
Adam; the rate falls linearly to 0 over the second half of the steps.

A transformer sees `context_length` tokens. A longer text is scored in windows that
overlap by half, each token with at least half a context before it; a longer generation
goes on from the last half. State-space nets have no such limit.

Cost      6 operations a weight and token of training, 2 in use
Refs      [Radford2019]; [Dao2024]; [Gu2022d]; [Jordan2024] Muon; [Hu2022] LoRA
"""

import copy
import json
import tempfile
import weakref
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ... import nn
from ...base import Estimator
from ...core.chains.decoding import beam_search, decode
from ...core.random import draw_seed, make_rng
from ...neural_network.abstract_net import detached_net
from ...nn.nets.sequence_net import LayerSize
from ...nn.training.devices import resolve_device, seeded_torch
from ...nn.training.run_tag import run_tag
from ...nn.training.schedules import warmdown
from ...params import (
    Count,
    DeviceName,
    Flag,
    FractionBelowOne,
    NonNegative,
    ParameterError,
    Positive,
    Verbosity,
    check_count,
    check_params,
)
from ...persist.saved_state import Part, Whole, saved_state
from ...typing import Seed
from ..tokenizers.bpe import BPE
from ..tokenizers.token_stream import (
    FileDocuments,
    SpooledDocuments,
    TextDocuments,
    TokenWriter,
    document_blocks,
    write_token_streams,
)
from ..vectorizers.abstract_vectorizer import TextInput, check_documents
from .constrained_decoding import allowed_tokens
from .language_model import (
    bits_per_byte,
    join_log_probs,
    number_of_bytes,
    perplexity,
    token_cross_entropy,
)

SEPARATOR = "<|endoftext|>"
LOGITS_AT_ONCE = 1 << 24  # numbers of one block of logits in evaluation
CHUNK = 1024  # tokens that a state-space net reads at once


class GenerationState(NamedTuple):
    """State carried from one call of `advance` to the next."""

    tokens: Any  # (n, L) those that the net's state holds, of a transformer
    net: Any


def _transformer_lm(model) -> torch.nn.Module:
    """The causal transformer of a model's parameters."""
    if model.hidden_size % (2 * model.n_heads):
        raise ParameterError(
            f"n_heads must divide hidden_size={model.hidden_size} into even parts, "
            f"got {model.n_heads}."
        )
    options = replace(nn.MODERN, dropout=model.dropout, backend="fused")
    return nn.TransformerEncoder(
        model.hidden_size, model.n_heads, model.n_layers, options=options, causal=True
    )


def _state_space_lm(name):
    """The state-space net `name` of a model's parameters."""

    def made(model) -> torch.nn.Module:
        d = model.hidden_size
        size = LayerSize(d, d, model.n_layers, dropout=model.dropout)
        return nn.ARCHITECTURES[name](size)

    return made


LANGUAGE_NETS = {
    "transformer": _transformer_lm,
    "mamba": _state_space_lm("mamba"),
    "s4d": _state_space_lm("s4d"),
}


@saved_state(
    tokenizer_=Part(Estimator),
    net_=Part(nn.TokenModel),
    start_token=Whole(),
    end_token=Whole(),
)
@dataclass(eq=False, repr=False)
class NeuralLanguageModel(TextInput, Estimator):
    """Language model of tokens by a transformer or a state-space net, eq. (1).

    Parameters
    ----------
    architecture : {"transformer", "mamba", "s4d"}, default="transformer"
    tokenizer : BPE or None, default=None
        A fitted one is used as it is, one that is not is fitted to the texts; None is
        `BPE(vocab_size)`.
    vocab_size : int, default=2000
        Of the tokeniser, if none is given.
    hidden_size : int, default=128
        Columns of the net.
    n_layers, n_heads : int, default=4
        Blocks, and heads of a transformer.
    context_length : int, default=256
        Tokens of a training window, and the most that a transformer sees.
    packing : {"isolated", "joined"}, default="isolated"
        Whether a document sees others that share its window.
    dropout : float, default=0.1
    tied : bool, default=False
        Whether the output layer is the embedding.
    optimiser : {"muon", "adamw"}, default="muon"
        Of the matrices of hidden layers.
    batch_size : int, default=16
        Windows per step.
    learning_rate_init : float, default=0.003
        The highest rate.
    weight_decay : float, default=0.1
        Pull of the matrices of hidden layers towards 0, times the rate.
    clip : float or None, default=1
        Largest norm of a gradient.
    n_epochs : int, default=10
    early_stopping : bool, default=True
        Hold out documents, stop by their loss, keep the best epoch. Texts of your own
        go to `fit` as `validation`.
    validation_fraction : float, default=0.05
        Share of the documents held out; of a single one its end.
    n_iter_no_change : int, default=3
        Epochs without improvement that are borne.
    warm_start : bool, default=False
        Go on from the last fit, with its tokeniser.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the weights, held-out documents, order and dropout.
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each epoch too.
    device : {"auto", "cpu", "cuda"}, default="auto"
    amp : bool, default=False
        Train with bfloat16 arithmetic.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.

    Attributes
    ----------
    tokenizer_ : BPE
    net_ : nn.TokenModel
    start_token, end_token : int
        The separator of documents.
    n_tokens_ : int
        Tokens of the training stream.
    n_iter_, history_, converged_, interrupted_
        Epochs, losses of each, and how training ended.

    Examples
    --------
    >>> from pansophy.text import NeuralLanguageModel
    >>> model = NeuralLanguageModel(
    ...     vocab_size=270, hidden_size=16, n_layers=1, n_heads=2, n_epochs=60,
    ...     dropout=0.0, early_stopping=False, learning_rate_init=0.02, random_state=0,
    ... )
    >>> model = model.fit(["the cat sat on the mat"] * 4)
    >>> model.generate("the cat", max_tokens=30, temperature=0)
    ' sat on the mat'
    """

    architecture: Literal["transformer", "mamba", "s4d"] = "transformer"
    _: KW_ONLY
    tokenizer: Any = None
    vocab_size: Count = 2000
    hidden_size: Count = 128
    n_layers: Count = 4
    n_heads: Count = 4
    context_length: Count = 256
    packing: Literal["isolated", "joined"] = "isolated"
    dropout: FractionBelowOne = 0.1
    tied: Flag = False
    optimiser: Literal["muon", "adamw"] = "muon"
    batch_size: Count = 16
    learning_rate_init: Positive = 0.003
    weight_decay: NonNegative = 0.1
    clip: Positive | None = 1.0
    n_epochs: Count = 10
    early_stopping: Flag = True
    validation_fraction: FractionBelowOne = 0.05
    n_iter_no_change: Count = 3
    warm_start: Flag = False
    random_state: Seed = None
    verbose: Verbosity = False
    device: DeviceName = "auto"
    amp: Flag = False
    checkpoint: str | Path | None = None
    resume: Flag = False

    # -- fitting -----------------------------------------------------------------

    def fit(self, texts, y=None, *, validation=None):
        """Train on texts, each a document; they may come from an iterator.

        Parameters
        ----------
        texts : iterable of str
        y : ignored
        validation : iterable of str or None
            Texts to stop by; turns early stopping on.
        """
        check_documents(texts)
        check_params(self)
        held = (
            None if validation is None else TextDocuments(check_documents(validation))
        )
        return self._fit(TextDocuments(texts), held, once=not _is_collection(texts))

    def fit_files(self, paths, *, pattern="*.txt", validation=None):
        """Train on text files, each a document, which need not fit into memory.

        Parameters
        ----------
        paths : path or iterable of paths
            Files, and folders, of which files that fit `pattern` are taken.
        pattern : str, default="*.txt"
        validation : the same as paths, or None
        """
        check_params(self)
        held = None if validation is None else FileDocuments(validation, pattern)
        return self._fit(FileDocuments(paths, pattern), held, once=False)

    def _fit(self, documents, held, *, once):
        rng = make_rng(self.random_state)
        with tempfile.TemporaryDirectory(prefix="pansophy-") as folder:
            goes_on = self.warm_start and hasattr(self, "net_")
            if not goes_on:
                if once and not is_fitted(self.tokenizer):
                    documents = SpooledDocuments(documents, Path(folder) / "texts")
                self._learn_tokens(documents)
            streams = self._token_streams(documents, held, rng, Path(folder))
            if goes_on:
                net = copy.deepcopy(self.net_)
            else:
                with seeded_torch(torch.device("cpu"), draw_seed(rng)):
                    net = self._build_net()
            try:
                self._train(net, streams, rng)
            finally:
                del streams  # the files are unmapped before their folder goes
        return self

    def _learn_tokens(self, documents):
        """Set the tokeniser and the separator."""
        if self.tokenizer is None:
            tokenizer = BPE(self.vocab_size, special_tokens=(SEPARATOR,))
            self.tokenizer_ = tokenizer.fit(document_blocks(documents))
        elif is_fitted(self.tokenizer):
            self.tokenizer_ = self.tokenizer
        else:
            self.tokenizer_ = clone(self.tokenizer).fit(document_blocks(documents))
        self._set_separator()

    def _set_separator(self):
        """The tokeniser's end of text, or a token of the net's own."""
        tokens = self.tokenizer_.tokens_
        special = list(getattr(self.tokenizer_, "special_tokens", ()))
        separator_token = len(tokens)
        if SEPARATOR in special:
            separator_token = len(tokens) - len(special) + special.index(SEPARATOR)
        self.start_token = self.end_token = separator_token

    @property
    def n_vocabulary_(self) -> int:
        """Tokens of the net: those of the tokeniser, and a separator."""
        return max(len(self.tokenizer_.tokens_), self.end_token + 1)

    def _token_streams(self, documents, held, rng, folder):
        """The training stream, and one to stop by or None."""
        writers = [
            TokenWriter(folder / name, self.end_token, self.n_vocabulary_)
            for name in ("train", "valid")
        ]
        share = self.validation_fraction if self.early_stopping else 0.0
        if held is not None:
            write_token_streams(documents, self.encode, writers[:1])
            write_token_streams(held, self.encode, writers[1:])
            streams = [writer.close() for writer in writers]
            self._refuse_empty_texts(streams[0])
            return streams
        choose = (lambda: int(rng.random() < share)) if share else (lambda: 0)
        train, valid = write_token_streams(documents, self.encode, writers, choose)
        if not len(train):  # of few documents all may have been held out
            train, valid = valid, train
        self._refuse_empty_texts(train)
        if share and not len(valid):
            cut = int(len(train) * (1 - share))
            if min(cut, len(train) - cut) >= 2:
                return [train[:cut], train[cut:]]
        return [train, valid if len(valid) >= 2 else None]

    def _refuse_empty_texts(self, stream):
        """Refuse a stream of nothing but separators."""
        if not any(
            (stream[start : start + (1 << 16)] != self.end_token).any()
            for start in range(0, len(stream), 1 << 16)
        ):
            raise ValueError(
                f"{type(self).__name__} needs at least one text that is not empty."
            )

    def _build_net(self) -> nn.TokenModel:
        isolated = self.packing == "isolated"
        return nn.TokenModel(
            self.n_vocabulary_,
            LANGUAGE_NETS[self.architecture](self),
            self.hidden_size,
            tied=bool(self.tied),
            separator=self.end_token if isolated else None,
            length=self.context_length,
        )

    def _train(self, net, streams, rng):
        """Train a net on token streams, and store it."""
        windows = [
            None if stream is None else nn.TokenWindows(stream, self.context_length)
            for stream in streams
        ]
        options = self._training_options(net, windows)
        if self.checkpoint is not None:
            head = np.asarray(streams[0][: 1 << 20])
            options["tag"] = run_tag(self, streams[0].shape, [head])

        def run(task):
            result = nn.train(net, windows[0], seed=rng, task=task, **options)
            return result.as_planned()

        self.n_tokens_ = len(streams[0])
        self._run_driver(
            run,
            total=self.n_epochs,
            snapshot=lambda state: {"net_": detached_net(state.net)},
        )
        self.net_ = detached_net(net)

    def _training_options(self, net, windows) -> dict:
        stop = None
        if windows[1] is not None:
            stop = nn.EarlyStopping("valid_loss", patience=self.n_iter_no_change)
        steps = self.n_epochs * -(-len(windows[0]) // self.batch_size)
        return {
            "epochs": self.n_epochs,
            "batch_size": self.batch_size,
            "optimiser": self._optimiser(net),
            "schedule": warmdown(0.5, warmup=min(100, steps // 10)),
            "clip": self.clip,
            "amp": bool(self.amp),
            "device": self.device,
            "valid": windows[1],
            "stop": stop,
            "checkpoint": self.checkpoint,
            "resume": bool(self.resume),
        }

    def _optimiser(self, net):
        """Muon or AdamW for the matrices of hidden layers, Adam for the rest."""
        adam = nn.Adam(self.learning_rate_init, beta2=0.99)
        if nn.lora_layers(net):
            return adam
        hidden = {
            f"{name}.weight"
            for name, module in net.named_modules()
            if isinstance(module, torch.nn.Linear) and name != "output"
        }
        learns = [n for n, p in net.named_parameters() if p.requires_grad]
        rest = dict.fromkeys((n for n in learns if n not in hidden), adam)
        if self.optimiser == "adamw":
            return nn.ParameterGroups(rest, adam._replace(decay=self.weight_decay))
        muon = nn.Muon(self.learning_rate_init, decay=self.weight_decay)
        return nn.ParameterGroups(rest, muon)

    def fine_tune(self, texts, *, rank=None, layers=("*",), alpha=None, **changes):
        """A new model, trained further on other texts; this one is not changed.

        Parameters
        ----------
        texts : iterable of str
        rank : int or None, default=None
            Learn additions of this rank to linear layers and nothing else
            (`nn.add_lora`); None: all weights learn.
        layers : shell patterns of the names of linear layers, default=("*",)
            Those that get additions; the output layer only by name.
        alpha : float or None, default=None
            Scale of the additions times the rank; None is the rank.
        **changes
            Parameters of the new model: `n_epochs`, `learning_rate_init`, ...

        Returns
        -------
        model : NeuralLanguageModel
        """
        check_is_fitted(self, "net_")
        model = self._copied().set_params(**{"warm_start": True, **changes})
        check_params(model)
        if rank is not None:
            rng = make_rng(model.random_state)
            with seeded_torch(torch.device("cpu"), draw_seed(rng)):
                nn.add_lora(model.net_, layers, rank=rank, alpha=alpha)
        check_documents(texts)
        model._fit(TextDocuments(texts), None, once=False)
        return model.set_params(warm_start=self.warm_start)

    def _copied(self):
        """A fitted copy with a net of its own."""
        model = copy.copy(self)
        model.__dict__ = {**self.__dict__, "net_": copy.deepcopy(self.net_)}
        return model

    # -- adapters ----------------------------------------------------------------

    def save_adapter(self, path) -> None:
        """Write the additions of `fine_tune(rank=...)` alone, without the net."""
        check_is_fitted(self, "net_")
        weights = nn.lora_weights(self.net_)
        if not weights:
            raise ValueError("the model has no adapter: fine-tune it with a rank.")
        scales = {n: m.scale for n, m in nn.lora_layers(self.net_).items()}
        nn.write_checkpoint(path, weights, {"scales": scales})

    def load_adapter(self, path):
        """A new model: this one with the additions that `save_adapter` wrote."""
        check_is_fitted(self, "net_")
        weights, facts = nn.read_checkpoint(path)
        model = self._copied()
        nn.load_lora(model.net_, weights)
        for name, layer in nn.lora_layers(model.net_).items():
            layer.scale = float(facts["scales"][name])
        model.net_.eval()
        return model

    def merge_adapter(self):
        """A new model with plain layers, the additions put into their weights."""
        check_is_fitted(self, "net_")
        model = self._copied()
        nn.remove_lora(model.net_)
        return model

    # -- probabilities -------------------------------------------------------------

    def encode(self, text) -> np.ndarray:
        """Ids of the tokens of a text."""
        check_is_fitted(self, "tokenizer_")
        return self.tokenizer_.encode(text)

    def decode(self, tokens) -> str:
        """The text of tokens; separators are left out."""
        tokens = np.asarray(tokens, dtype=np.int64)
        return self.tokenizer_.decode(tokens[tokens != self.end_token])

    def log_probs(self, texts) -> list[np.ndarray]:
        """log p of every token of each text and of its end."""
        check_documents(texts)
        ends = [self.end_token]
        return self._scored([np.r_[ends, self.encode(t), ends] for t in texts])

    def log_prob(self, text, given="") -> float:
        """log p of a text after another, without its end."""
        context, continuation = self.encode(given), self.encode(text)
        tokens = np.r_[[self.start_token], context, continuation]
        return float(self._scored([tokens])[0][len(context) :].sum())

    def score_samples(self, texts):
        """log p of each text, with its end."""
        return np.array([values.sum() for values in self.log_probs(texts)])

    def score(self, texts, y=None) -> float:
        """Mean log p of a token."""
        return -token_cross_entropy(join_log_probs(self.log_probs(texts)))

    def perplexity(self, texts) -> float:
        """Perplexity of the tokens of texts, ends included."""
        return perplexity(join_log_probs(self.log_probs(texts)))

    def bits_per_byte(self, texts) -> float:
        """Bits for each byte of texts, with one byte between two of them."""
        texts = list(check_documents(texts))
        logs = join_log_probs(self.log_probs(texts))
        return bits_per_byte(logs, number_of_bytes(texts))

    def _scored(self, sequences) -> list[np.ndarray]:
        """log p of every token but the first of each sequence."""
        net, device = _evaluation_net(self)
        results = [np.empty(len(tokens) - 1) for tokens in sequences]
        with torch.no_grad():
            if not isinstance(net.layer, nn.TransformerEncoder):
                for tokens, log_probs in zip(sequences, results):
                    self._score_by_state(net, device, tokens, log_probs)
                return results
            windows = [
                (i, *window)
                for i, tokens in enumerate(sequences)
                for window in scoring_windows(len(tokens) - 1, self.context_length)
            ]
            for block in _window_blocks(windows, net.output.out_features):
                rows = [sequences[i][start : stop + 1] for i, start, _, stop in block]
                values = _window_log_probs(net, device, rows)
                for (i, start, first, stop), value in zip(block, values):
                    results[i][first:stop] = value[first - start : stop - start]
        return results

    def _score_by_state(self, net, device, tokens, out):
        """Score tokens by a net with a state, which sees all of a text."""
        state = None
        for start in range(0, len(tokens) - 1, CHUNK):
            part = torch.from_numpy(tokens[start : start + CHUNK + 1]).to(device)
            logits, state = net(part[None, :-1], state)
            out[start : start + CHUNK] = _chosen_log_probs(logits, part[None, 1:])[0]

    def advance(self, tokens, state=None):
        """Logits of what follows each of the tokens (n, L), and the state."""
        check_is_fitted(self, "net_")
        net, device = _evaluation_net(self)
        ids = torch.as_tensor(np.asarray(tokens), device=device)
        if isinstance(net.layer, nn.TransformerEncoder):
            return self._advance_transformer(net, ids, state)
        with torch.no_grad():
            logits, state = net(ids, state)
        return logits.double().cpu().numpy(), state

    def _advance_transformer(self, net, ids, state):
        """Advance a bounded context: beyond it, the last half is read anew."""
        new = ids.shape[1]
        seen = ids if state is None else torch.cat([state.tokens, ids], 1)
        memory = None if state is None else state.net
        if seen.shape[1] > self.context_length:
            kept = max(self.context_length // 2, min(new, self.context_length))
            seen = ids = seen[:, -kept:]
            memory = None
        with torch.no_grad():
            logits, memory = net(ids, memory)
        logits = logits[:, -new:].double().cpu().numpy()
        return logits, GenerationState(seen, memory)

    # -- generation ----------------------------------------------------------------

    def generate(
        self, prompts="", *, max_tokens=50, beams=None, constraint=None,
        random_state=None, **options,
    ):  # fmt: skip
        """Continuations of prompts.

        Parameters
        ----------
        prompts : str or list of str
            Texts to go on with; prompts of equally many tokens are one batch.
        max_tokens : int, default=50
        beams : int or None, default=None
            Search for the likeliest continuation with so many hypotheses, in place of
            drawing one; 1 is greedy.
        constraint : StringSet, Grammar or None
            What the continuation must be; `max_tokens` may cut it short.
        random_state : int, Generator or None
        options
            `temperature`, `top_k`, `top_p` and `allowed` of
            `core.chains.decoding.decode`, or `alpha` and `allowed` of its
            `beam_search`.

        Returns
        -------
        texts : str or list of str
            What was added to each prompt.
        """
        check_is_fitted(self, "net_")
        check_count("max_tokens", max_tokens)
        listed = [prompts] if isinstance(prompts, str) else list(prompts)
        options = {"end": self.end_token, "max_new": max_tokens, **options}
        if constraint is not None:
            spelled = self.tokenizer_.tokens_[: self._n_ordinary()]
            options["allowed"] = allowed_tokens(spelled, constraint, self.end_token)
        starts = [np.r_[[self.start_token], self.encode(text)] for text in listed]
        results: list[Any] = [None] * len(listed)
        rng = make_rng(random_state)
        for rows in _rows_by_length(starts):
            batch = np.stack([starts[i] for i in rows]).astype(np.int64)
            if beams is not None:
                generated = [
                    beam_search(self.advance, start, beams=beams, **options)[0].tokens
                    for start in batch
                ]
            else:
                generated = decode(
                    self.advance, batch, random_state=rng, **options
                ).tolist()
            for i, tokens in zip(rows, generated):
                cut = tokens.index(self.end_token) if self.end_token in tokens else None
                results[i] = self.decode(tokens[:cut])
        return results[0] if isinstance(prompts, str) else results

    def _n_ordinary(self) -> int:
        """Tokens that are not special."""
        special = getattr(self.tokenizer_, "special_tokens", ())
        return len(self.tokenizer_.tokens_) - len(special)

    # -- weights of others ---------------------------------------------------------

    @classmethod
    def from_gpt2(cls, folder, **params):
        """A model from a folder with the weights and the tokeniser of a GPT-2.

        Parameters
        ----------
        folder : path
            With config.json, model.safetensors and tokenizer.json, as Hugging Face
            lays them out.
        **params
            Parameters of the model, for fine-tuning.
        """
        folder = Path(folder)
        config = json.loads((folder / "config.json").read_text("utf-8"))
        net = _gpt2_net(config, folder / "model.safetensors")
        sizes = {
            "hidden_size": config["n_embd"],
            "n_layers": config["n_layer"],
            "n_heads": config["n_head"],
            "context_length": config["n_positions"],
            "vocab_size": config["vocab_size"],
        }
        model = cls("transformer", tied=True, dropout=0.0, **{**sizes, **params})
        model.tokenizer_ = BPE.from_json(folder / "tokenizer.json")
        model._set_separator()
        if model.n_vocabulary_ > config["vocab_size"]:
            raise ValueError(
                f"{folder}: the tokeniser has {model.n_vocabulary_} tokens, but the "
                f"net {config['vocab_size']}."
            )
        if model.packing == "isolated":
            net.separator = model.end_token
        model.net_ = net.eval()
        model.n_tokens_ = 0
        return model


def _is_collection(texts) -> bool:
    """Whether texts can be read more than once."""
    return iter(texts) is not iter(texts)


def is_fitted(tokenizer) -> bool:
    return tokenizer is not None and hasattr(tokenizer, "tokens_")


def _rows_by_length(sequences) -> list[list[int]]:
    """Places of sequences of equal length, the shortest first."""
    groups: dict[int, list[int]] = {}
    for i, tokens in enumerate(sequences):
        groups.setdefault(len(tokens), []).append(i)
    return [groups[n] for n in sorted(groups)]


DEVICE_NETS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _evaluation_net(model):
    """A model's net on its device, without dropout; copied there once."""
    check_is_fitted(model, "net_")
    device = resolve_device(model.device)
    if device.type == "cpu":
        return model.net_.eval(), device
    kept = DEVICE_NETS.get(model)
    if kept is None or kept[0] is not model.net_ or kept[2] != device:
        kept = (model.net_, copy.deepcopy(model.net_).to(device).eval(), device)
        DEVICE_NETS[model] = kept
    return kept[1], device


def scoring_windows(n, context):
    """(start, first, stop) of windows in which predictions first..stop are scored."""
    yield 0, 0, min(n, context)
    stop = context
    step = max(context // 2, 1)
    while stop < n:
        first = stop
        stop = min(stop + step, n)
        yield stop - context, first, stop


def _window_blocks(windows, vocabulary):
    """Windows of about equal length, in blocks of bounded size."""
    block = []
    for window in sorted(windows, key=lambda w: w[3] - w[1]):
        length = window[3] - window[1]
        if block and (len(block) + 1) * length * vocabulary > LOGITS_AT_ONCE:
            yield block
            block = []
        block.append(window)
    if block:
        yield block


def _window_log_probs(net, device, rows) -> list[np.ndarray]:
    """log p of every token but the first of windows of tokens, padded behind."""
    longest = max(map(len, rows))
    padded = np.zeros((len(rows), longest), np.int64)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    tokens = torch.from_numpy(padded).to(device)
    logits = net.output(net.layer(net.embedding(tokens[:, :-1]), return_state=False)[0])
    return list(_chosen_log_probs(logits, tokens[:, 1:]))


def _chosen_log_probs(logits, tokens) -> np.ndarray:
    """log softmax of logits (n, L, V) at tokens (n, L)."""
    logits = logits.float()
    chosen = logits.gather(2, tokens[:, :, None])[:, :, 0]
    return (chosen - logits.logsumexp(-1)).double().cpu().numpy()


GPT2_ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
}


def _gpt2_net(config, path) -> nn.TokenModel:
    """The net of GPT-2's weights; its linear maps are stored transposed."""
    from safetensors.torch import load_file

    activation = config.get("activation_function", "gelu_new")
    if activation not in GPT2_ACTIVATIONS:
        known = ", ".join(GPT2_ACTIVATIONS)
        raise ValueError(
            f"activation_function of config.json must be one of {known}, got "
            f"{activation!r}."
        )
    d = config["n_embd"]
    options = nn.BlockOptions(
        feed_forward=GPT2_ACTIVATIONS[activation],  # type: ignore[arg-type]
        positions="learned",
        max_length=config["n_positions"],
        backend="fused",
    )
    layer = nn.TransformerEncoder(
        d, config["n_head"], config["n_layer"], config.get("n_inner"),
        options=options, causal=True,
    )  # fmt: skip
    length = config["n_positions"]
    net = nn.TokenModel(config["vocab_size"], layer, d, tied=True, length=length)
    weights = {k.removeprefix("transformer."): v for k, v in load_file(path).items()}
    state = _gpt2_state(weights, config["n_layer"], d)
    missing = net.state_dict().keys() - state.keys()
    if missing:
        raise ValueError(f"{path} lacks weights of GPT-2: {sorted(missing)[0]}.")
    net.load_state_dict(state)
    eps = config.get("layer_norm_epsilon", 1e-5)
    for module in net.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = float(eps)
    return net


def _gpt2_state(given, n_layers, d) -> dict[str, torch.Tensor]:
    """Weights of GPT-2 under the names of our net; those that are absent are left out.

    Queries, keys and values of GPT-2 are one map.
    """
    result = {}

    def take(name, ours, turned=False):
        for kind in ("weight", "bias"):
            if f"{name}.{kind}" in given:
                value = given[f"{name}.{kind}"].float()
                linear = turned and kind == "weight"
                result[f"{ours}.{kind}"] = value.T.contiguous() if linear else value

    take("wte", "embedding")
    result["output.weight"] = result.get("embedding.weight")
    if "wpe.weight" in given:
        result["layer.stack.positions.P"] = given["wpe.weight"].float()
    take("ln_f", "layer.stack.last_norm")
    for i in range(n_layers):
        block = f"layer.stack.blocks.{i}"
        take(f"h.{i}.ln_1", f"{block}.norms.attention")
        take(f"h.{i}.ln_2", f"{block}.norms.feed_forward")
        take(f"h.{i}.attn.c_attn", "qkv", turned=True)
        for kind in ("weight", "bias"):
            if f"qkv.{kind}" in result:
                parts = result.pop(f"qkv.{kind}").split(d)
                for letter, part in zip("qkv", parts):
                    result[f"{block}.attention.W_{letter}.{kind}"] = part.clone()
        take(f"h.{i}.attn.c_proj", f"{block}.attention.W_o", turned=True)
        take(f"h.{i}.mlp.c_fc", f"{block}.feed_forward.W_1", turned=True)
        take(f"h.{i}.mlp.c_proj", f"{block}.feed_forward.W_2", turned=True)
    return {name: value for name, value in result.items() if value is not None}
