"""Certificates of models, each kept for good."""

from sourcebound.contracts.certification.certificate import Certificate
from sourcebound.store.connection.database import Pool, store_faults
from sourcebound.store.connection.queries import query


class PostgresCertificates:
    """The table `model_certificates`.

    Args:
        pool: Connections to its database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def save(self, certificate: Certificate) -> None:
        """Adds a certificate; those before it stay."""
        values = {
            "model": certificate.model,
            "policy_version": certificate.policy_version,
            "certified_at": certificate.certified_at,
            "certificate": certificate.model_dump_json(),
        }
        with store_faults():
            async with self._pool.connection() as connection:
                await connection.execute(query("insert_certificate"), values)

    async def latest(self, model: str) -> Certificate | None:
        """The newest certificate of a model, under whatever policy; None where there is none."""
        return next(iter(await self.list(model, 1)), None)

    async def latest_by_model(self) -> dict[str, Certificate]:
        """The newest certificate of each model that has one."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("latest_certificates"))
                found = [Certificate.model_validate(row["certificate"]) for row in await cursor.fetchall()]
        return {certificate.model: certificate for certificate in found}

    async def list(self, model: str | None, limit: int) -> list[Certificate]:
        """Certificates, newest first: one model's, or all when it is None."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_certificates"), {"model": model, "limit": limit})
                return [Certificate.model_validate(row["certificate"]) for row in await cursor.fetchall()]
