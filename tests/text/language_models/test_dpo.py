"""Direct preference optimisation: worked losses, gradients, what counts, training."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from sklearn.exceptions import NotFittedError  # noqa: E402

from pansophy.text import DPOTrainer, NeuralLanguageModel, dpo_loss  # noqa: E402
from pansophy.text.language_models.dpo import (  # noqa: E402
    PreferenceNet,
    answer_log_probs,
    answers_to_prompts,
)

PROMPTS = ["tea is", "ice is", "the sun is", "snow is"]
RIGHT = [" hot", " cold", " hot", " cold and white"]
WRONG = [" cold", " hot and red", " cold", " hot"]


@pytest.fixture(scope="module", params=["transformer", "mamba", "s4d"])
def model(request):
    texts = [p + a for p in PROMPTS for a in (" hot", " cold")]
    return NeuralLanguageModel(
        request.param, vocab_size=280, hidden_size=16, n_layers=1, n_heads=2,
        n_epochs=8, dropout=0.2, context_length=16, early_stopping=False,
        learning_rate_init=0.01, random_state=0, device="cpu",
    ).fit(texts)  # fmt: skip


# -- losses ----------------------------------------------------------------------------


def test_worked_example():
    """Log-ratios of +1 and -0.5 at beta = 0.1, and none."""
    assert float(dpo_loss(-5.0, -7.0, -5.0, -7.0).loss) == pytest.approx(
        0.693147, abs=1e-6
    )
    found = dpo_loss(-4.0, -7.5, -5.0, -7.0)
    assert float(found.loss) == pytest.approx(0.620957, abs=1e-6)
    assert float(found.chosen_reward) == pytest.approx(0.1)
    assert float(found.rejected_reward) == pytest.approx(-0.05)


def test_other_losses_by_hand():
    args = (-4.0, -7.5, -5.0, -7.0)  # m = 1.5
    assert float(dpo_loss(*args, kind="hinge").loss) == pytest.approx(1 - 0.15)
    assert float(dpo_loss(*args, kind="ipo").loss) == pytest.approx((1.5 - 5) ** 2)
    assert float(dpo_loss(*args, kind="hinge", beta=1.0).loss) == 0.0
    smooth = dpo_loss(*args, label_smoothing=0.25).loss
    s = lambda z: 1 / (1 + math.exp(-z))
    wanted = -0.75 * math.log(s(0.15)) - 0.25 * math.log(s(-0.15))
    assert float(smooth) == pytest.approx(wanted)
    half = dpo_loss(*args, kind="ipo", label_smoothing=0.5).loss
    assert float(half) == pytest.approx(1.5**2)


@pytest.mark.parametrize("kind", ["sigmoid", "hinge", "ipo"])
def test_gradients_at_the_reference(kind):
    w, lost = (torch.tensor([-3.0], requires_grad=True) for _ in range(2))
    r = torch.tensor([-3.0])
    dpo_loss(w, lost, r, r, kind=kind, beta=0.4).loss.sum().backward()
    slope = {"sigmoid": 0.2, "hinge": 0.4, "ipo": 2 / 0.8}[kind]
    assert float(w.grad) == pytest.approx(-slope)
    assert float(lost.grad) == pytest.approx(slope)  # swapping turns the sign
    finite = float(dpo_loss(-3.0 + 1e-6, -3.0, -3.0, -3.0, kind=kind, beta=0.4).loss)
    start = float(dpo_loss(-3.0, -3.0, -3.0, -3.0, kind=kind, beta=0.4).loss)
    assert (finite - start) / 1e-6 == pytest.approx(-slope, rel=1e-4)


@pytest.mark.parametrize("kind", ["sigmoid", "hinge"])
def test_falls_with_the_margin_and_only_log_ratios_matter(kind):
    m = np.linspace(-30, 30, 50)
    losses = dpo_loss(m, 0 * m, 0 * m, 0 * m, kind=kind).loss.numpy()
    assert (np.diff(losses) <= 0).all() and losses[0] > losses[-1]
    shifted = dpo_loss(m - 9, 0 * m - 2, 0 * m - 9, 0 * m - 2, kind=kind).loss
    np.testing.assert_allclose(shifted.numpy(), losses)


def test_bad_arguments():
    with pytest.raises(ValueError, match="kind must be one of"):
        dpo_loss(0, 0, 0, 0, kind="kto")
    with pytest.raises(ValueError, match="beta must be a number above 0"):
        dpo_loss(0, 0, 0, 0, beta=0)


# -- what counts -----------------------------------------------------------------------


def test_only_tokens_of_the_answer_count(model):
    answers = answers_to_prompts(model, PROMPTS, RIGHT)
    batch = [torch.from_numpy(a) for a in answers.padded(np.arange(4))]
    with torch.no_grad():
        found = answer_log_probs(model.net_, *batch)
        mean = answer_log_probs(model.net_, *batch, normalised=True)
    scored = model._scored(answers.tokens)
    wanted = [v[len(model.encode(p)) :].sum() for v, p in zip(scored, PROMPTS)]
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    np.testing.assert_allclose(mean, wanted / answers.sizes, atol=1e-4)


def test_a_net_at_its_reference_has_loss_log_two(model):
    trainer = DPOTrainer(model)
    pairs = trainer._pairs(PROMPTS, RIGHT, WRONG)
    net = PreferenceNet(model._copied().net_, trainer).train()
    batch = [torch.from_numpy(a) for a in pairs.take(np.arange(4))]
    losses = net.losses(batch)
    assert float(losses["preference"].detach()) == pytest.approx(math.log(2), abs=1e-5)


# -- training --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["sigmoid", "hinge", "ipo"])
def test_preferences_are_learnt(model, loss):
    trainer = DPOTrainer(
        model, loss=loss, n_epochs=15, learning_rate_init=0.01, random_state=0
    )
    before = model.log_prob(" hot", "tea is")
    trainer.fit(PROMPTS, RIGHT, WRONG)
    assert model.log_prob(" hot", "tea is") == before  # the reference stays
    assert trainer.score(PROMPTS, RIGHT, WRONG) == 1.0
    assert trainer.history_["accuracy"][-1] == 1.0
    assert trainer.history_["loss"][-1] < trainer.history_["loss"][0]
    rewards = trainer.implicit_reward(PROMPTS, RIGHT)
    margin = rewards - trainer.implicit_reward(PROMPTS, WRONG)
    assert trainer.history_["margin"][-1] == pytest.approx(margin.mean(), abs=1e-4)
    logs = [
        trainer.model_.log_prob(a, p) for a, p in zip([" hot", " cold"], ["tea is"] * 2)
    ]
    assert logs[0] > logs[1]
    assert trainer.history_["chosen_length"][0] > 1


def test_sft_term_keeps_preferred_answers_likely(model):
    options = {"n_epochs": 15, "learning_rate_init": 0.01, "random_state": 0}
    plain = DPOTrainer(model, **options).fit(PROMPTS, RIGHT, WRONG)
    held = DPOTrainer(model, sft_weight=1.0, **options).fit(PROMPTS, RIGHT, WRONG)
    last = lambda t: t.history_["chosen_log_prob"][-1]
    assert last(held) > last(plain)
    assert "sft" in held.history_ and "sft" not in plain.history_


@pytest.mark.parametrize("loss", ["sigmoid", "hinge", "ipo"])
def test_equal_answers_teach_nothing(model, loss):
    trainer = DPOTrainer(model, loss=loss, n_epochs=2, random_state=0)
    trainer.fit(PROMPTS, RIGHT, RIGHT)
    assert (trainer.history_["margin"] == 0).all()
    assert np.isfinite(trainer.history_["loss"]).all()
    for new, old in zip(trainer.model_.net_.parameters(), model.net_.parameters()):
        torch.testing.assert_close(new, old, rtol=0, atol=1e-3)


def test_adapter_only_and_validation_pairs(model):
    trainer = DPOTrainer(
        model, rank=2, n_epochs=10, learning_rate_init=0.05, length_normalised=True,
        random_state=0,
    )  # fmt: skip
    held = (PROMPTS[:2], RIGHT[:2], WRONG[:2])
    trainer.fit(PROMPTS, RIGHT, WRONG, validation=held)
    assert trainer.history_["margin"][-1] > 0
    names = [n for n, p in trainer.model_.net_.named_parameters() if p.requires_grad]
    assert names and all(n.endswith((".A", ".B")) for n in names)


def test_what_cannot_be_trained(model):
    with pytest.raises(ValueError, match="must be a fitted NeuralLanguageModel"):
        DPOTrainer().fit(PROMPTS, RIGHT, WRONG)
    with pytest.raises(ValueError, match="equally many texts"):
        DPOTrainer(model).fit(PROMPTS, RIGHT, WRONG[:2])
    with pytest.raises(NotFittedError):
        DPOTrainer(model).score(PROMPTS, RIGHT, WRONG)
    if model.architecture == "transformer":
        with pytest.raises(ValueError, match="but the model sees 16"):
            DPOTrainer(model).fit(["tea " * 30], ["hot"], ["cold"])
