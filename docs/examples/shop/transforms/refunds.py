import flow_transforms as flow
from flow_transforms import functions as F


@flow.pipeline("refunds")
def refunds(df):
    return (
        df.withColumnRenamed("refund_id", "id")
        .withColumns(
            {
                "reason": F.lower(F.trim("reason")),
                "size": F.when(F.col("amount") >= 100, "large").otherwise("small"),
            }
        )
        .filter(F.col("amount") > 0)
    )
